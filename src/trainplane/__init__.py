"""Trainplane: a control plane for distributed training."""

__version__ = "0.1.0"
