"""What a kernel's own text says and lets guess, and which kernels no problem file can be written for."""
