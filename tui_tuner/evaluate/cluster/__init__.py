"""Devices of the machines of a Ray cluster: a worker a device, which builds and measures there as this machine does."""
