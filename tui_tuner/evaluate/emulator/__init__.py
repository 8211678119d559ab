"""CUDA on one CPU core: headers and a runtime that g++ compiles a kernel with."""
