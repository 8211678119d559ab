"""How each toolchain builds one configuration."""
