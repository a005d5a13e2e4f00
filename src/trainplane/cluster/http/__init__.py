"""The HTTP face of the embedded API."""
