"""Clusters for the tests of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters


@pytest.fixture
def clusters(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A home without clusters; those that are started there end with the test."""
    found = Clusters(tmp_path, tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        yield found
    finally:
        found.end()
