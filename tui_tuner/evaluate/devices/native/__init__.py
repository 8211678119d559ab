"""The CPU as a device: C kernels, and CUDA kernels built for the emulator."""
