"""With -w verbs go on: rows that change are printed below the others, and so is what is gone."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import pytest

from tests.cli.clusters import Clusters
from tests.cli.test_jobs import LONG, job, late, send
from tests.patience import PATIENCE


@pytest.fixture
def up(clusters: Clusters) -> Clusters:
    """A cluster with two simulated nodes of four CPUs."""
    clusters.up("--nodes", "2", "--simulate", "--node-cpu", "4")
    return clusters


@contextmanager
def watching(up: Clusters, *words: str) -> "Iterator[Iterator[str]]":
    """The lines of a verb as they come; Ctrl-C ends it without a word more."""
    with up.foreground(*words, PYTHONUNBUFFERED="1") as watcher:
        # A line that never comes ends the lines, and so the test, instead of keeping it waiting.
        bound = Timer(2 * PATIENCE, watcher.kill)
        bound.start()
        try:
            assert watcher.stdout
            assert watcher.stderr
            yield iter(watcher.stdout)
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(PATIENCE) == 130
            assert "Traceback" not in watcher.stderr.read()
        finally:
            bound.cancel()


def until(lines: "Iterator[str]", *start: str) -> list[str]:
    """The cells of the first line that begins with these."""
    return next(cells for line in lines if (cells := line.split())[: len(start)] == list(start))


def test_a_job_is_followed_to_its_deletion_and_one_by_name_too(up: Clusters) -> None:
    send(up, job("first", seconds="600"), job("second", seconds="600"))
    up.run("wait", "first", "second", "--for", "Running", "--timeout", LONG)
    with watching(up, "get", "jobs", "-w") as all_of, watching(up, "get", "jobs", "first", "-w") as one:
        for lines in (all_of, one):
            assert next(lines).split()[:2] == ["NAME", "STATE"]
            until(lines, "first", "Running")
        up.run("delete", "first", "--wait")
        for lines in (all_of, one):
            assert until(lines, "first", "Deleted")[2:4] == ["2", "torch-distributed"]


def test_why_history_and_top_go_on_too(up: Clusters) -> None:
    send(up, job("busy", cpu="3", seconds="600"))
    up.run("wait", "busy", "--for", "Running", "--timeout", LONG)
    send(up, job("next", cpu="3", seconds="600"))
    with (
        watching(up, "why", "--all", "-w") as why,
        watching(up, "why", "next", "-w") as one,
        watching(up, "history", "-w") as history,
        watching(up, "top", "-w") as top,
    ):
        until(why, "next", "Pending")
        assert next(line for line in one if " needs " in line).startswith("next waits: ")
        assert until(top, "busy")[1:3] == ["Running", "6"]
        up.run("delete", "busy")
        until(why, "next", "GoesOn")
        assert next(line for line in one if "running" in line) == "next is running, and nothing is in its way\n"
        assert until(top, "next")[1:3] == ["Running", "6"]
        send(up, late("late"))
        assert until(history, "late")[1] == "Failed"


def test_one_answer_does_not_go_on(up: Clusters) -> None:
    for words in (("top",), ("why", "--all")):
        said = up.run(*words, "-w", "-o", "json", code=2).stderr
        assert "-o json is one answer: leave out -w, or ask again" in said


def test_a_job_in_its_first_second_says_since_when_and_what_to_do(up: Clusters) -> None:
    up.run("delete", "--all", "--yes")
    send(up, job("young", seconds="600", start_seconds="600"))
    said = up.run("why", "young").stdout
    assert said.startswith("young ")
    assert "  since  " in said
    assert "  do     " in said
