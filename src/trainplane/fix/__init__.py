"""Mending documents in their authors' own text: the faults whose remedy is certain, and nothing else."""
