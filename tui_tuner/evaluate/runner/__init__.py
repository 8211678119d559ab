"""The process that holds a device: what is asked of it, how it answers, who watches it."""
