"""The same rooms on virtual time: what would happen to this queue."""
