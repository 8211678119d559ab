"""A session inside of another program's tuner: that program builds and times, in its own thread."""
