"""Our controllers in someone else's cluster."""
