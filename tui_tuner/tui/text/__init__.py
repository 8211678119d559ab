"""Text that is data, made fit to show: plain, as Markdown, in colours, as a difference."""
