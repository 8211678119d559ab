"""One launch of a kernel, worked out over the sizes that it is made of, and what a problem file says of it."""
