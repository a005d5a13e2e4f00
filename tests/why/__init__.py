"""Tests of the causes that keep jobs from going on."""
