"""Sessions: effects, journal, budget, events."""
