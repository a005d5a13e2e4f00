"""Tests of the chores of a cluster."""
