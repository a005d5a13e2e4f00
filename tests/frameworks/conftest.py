"""A cluster on whose nodes frameworks train for real, each in an environment of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.clusters import Clusters
from tools.environments import NotMade, environment

Result = dict[str, Any]
PROGRAMS = Path(__file__).parent / "programs"
PATIENCE = 480.0
"""Seconds: importing torch four times takes a while on two cores that have other things to do."""


@pytest.fixture(scope="session")
def need() -> Callable[[str], Path]:
    """The environment of a name; the test is skipped where it cannot be made."""

    def found(name: str) -> Path:
        try:
            return environment(name)
        except NotMade as error:
            pytest.skip(f"its packages cannot be installed: {error}")

    return found


class Lab:
    """Clusters whose images are environments."""

    def __init__(self, clusters: Clusters, need: Callable[[str], Path]) -> None:
        self.clusters = clusters
        self._need = need

    def up(self, *names: str, nodes: int = 4) -> None:
        """Start a cluster on which the image `NAME/test` is the environment of that name."""
        images = [word for name in names for word in ("--image", f"{name}/*={self._need(name)}")]
        self.clusters.up("--nodes", str(nodes), *images)

    def run(self, *words: str, code: int = 0) -> Result:
        """What a job says on the line that begins with `result`."""
        done = self.clusters.run("run", *words, code=code, patience=PATIENCE)
        return result(done.stdout)


def result(text: str) -> Result:
    """The result in a job's output."""
    lines = [line.partition("result ")[2] for line in text.splitlines() if "result {" in line]
    assert len(lines) == 1, text
    found: Result = json.loads(lines[0])
    return found


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, need: Callable[[str], Path]) -> Iterator[Lab]:
    """A place to train in; what runs there ends with the module."""
    base = tmp_path_factory.mktemp("lab")
    clusters = Clusters(base, tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        yield Lab(clusters, need)
    finally:
        clusters.end()
