"""How good a search is: run again and again on recorded search spaces, and scored against random sampling."""
