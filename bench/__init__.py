"""What `make bench` measures: each figure beside its aim and a baseline from the same run."""
