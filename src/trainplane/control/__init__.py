"""The heartbeat: what is watched becomes a View, and a Decision becomes calls of the Client."""
