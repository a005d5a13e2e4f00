"""How long tests wait for what should come: enough for a slow machine that does other things too, and yet bounded."""

PATIENCE = 120.0
"""Seconds in which one thing happens."""
STORY = 300.0
"""Seconds in which a whole story of several such things comes to its end."""
