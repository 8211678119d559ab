"""A recording of kernel_tuner in the place of a device: what was measured once answers for the GPU."""
