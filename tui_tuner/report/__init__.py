"""What a session leaves behind for programs and people."""
