"""What imports torch: loaded in the process of a kernel, and where Helion itself calls this program."""
