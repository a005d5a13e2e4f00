"""Pods get Nodes, all of a gang or none. Pure."""
