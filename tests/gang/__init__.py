"""Tests of the room that places pods."""
