"""A person's words for the whole: train, wait, logs."""
