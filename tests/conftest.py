"""What every test may ask for: clusters, goldens, recordings; and a closing word on what was skipped."""

import difflib
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.clusters import Clusters
from tests.places import need_real_kubeconfig, need_shared

# A shell ignores Ctrl-C for what it starts in the background, and so would every command that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is not a failing one: neither deadlines nor "too slow" may turn a test red.
# The default run is derandomized, so that two runs of one commit say the same; `make soak` goes looking for new cases.
_calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("trainplane", _calm, max_examples=50, derandomize=True)
settings.register_profile("soak", _calm, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "trainplane"))


@pytest.fixture
def clusters(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A home without clusters; those that are started there end with the test."""
    found = Clusters(tmp_path, tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        yield found
    finally:
        found.end()


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares text with a committed file, or rewrites the file under --update-golden."""

    update: bool

    def check(self, path: Path, actual: str) -> None:
        """Hold `actual` against the file at `path`; a folder means its `out.yaml`."""
        if path.is_dir():
            path = path / "out.yaml"
        expected = path.read_text(encoding="utf-8") if path.exists() else None
        if expected == actual:
            return
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        diff = "".join(
            difflib.unified_diff(
                (expected or "").splitlines(keepends=True),
                actual.splitlines(keepends=True),
                fromfile=f"{path.name} (committed)",
                tofile=f"{path.name} (now)",
            )
        )
        pytest.fail(f"{path} is not what the code says; if the code is right, run `make golden`\n{diff}", pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what the code says now")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Golden files: `golden.check(path, text)`."""
    return Golden(update=bool(request.config.getoption("--update-golden")))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material; skips where it is missing."""
    return need_shared()


@pytest.fixture(scope="session")
def real_kubeconfig() -> Path:
    """The kubeconfig of a real cluster that may be written to; skips where none is named."""
    return need_real_kubeconfig()


def _reasons(reports: list[pytest.TestReport]) -> Iterator[tuple[str, str]]:
    for report in reports:
        place = report.nodeid.partition("::")[0]
        longrepr = report.longrepr
        reason = (longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)).removeprefix("Skipped: ")
        if reason.startswith("got empty parameter set"):
            # pytest's own words for a table that had no rows here; they say nothing of what is missing.
            reason = "needs cases to try, and none were found: they come from the shared folder or another named here"
        yield place, reason


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Close with what this machine lacks: every reason for skipping, and how many tests wait behind it."""
    groups: dict[str, Counter[str]] = {}
    for place, reason in _reasons(terminalreporter.stats.get("skipped", [])):
        groups.setdefault(reason, Counter())[place] += 1
    if not groups:
        return
    terminalreporter.section("not tested on this machine")
    for reason, places in sorted(groups.items()):
        count = sum(places.values())
        terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''}: {reason}")
        for place, number in sorted(places.items()):
            terminalreporter.write_line(f"    {place} ({number})")
