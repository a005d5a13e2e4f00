"""An append-only log of revisions with a current index."""
