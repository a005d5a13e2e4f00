"""What a job waits for, in one sentence with a way out. Pure."""
