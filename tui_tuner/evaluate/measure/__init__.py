"""How long a launch takes, and how sure that is."""
