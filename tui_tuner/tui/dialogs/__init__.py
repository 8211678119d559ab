"""What is shown over the panes."""
