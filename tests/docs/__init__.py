"""Every command, YAML block, path and module name in the documents is true."""
