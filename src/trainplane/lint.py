"""Documents in, Problems out: dialect, schema, structure and cross-document rules in one pass. Pure."""
