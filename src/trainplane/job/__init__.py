"""A Job becomes Pods. Pure."""
