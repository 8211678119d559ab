"""Search: a surrogate or kernel_tuner's strategies choose configurations, in a process of their own."""
