"""The ground: a Kubernetes-shaped API, ours or theirs, seen as a Client."""
