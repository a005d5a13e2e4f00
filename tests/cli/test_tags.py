"""Lines on the terminal: whose each is, and how far the job says it is."""

import click
import pytest

from trainplane.cli.tags import Tags, progress_of
from trainplane.sdk.logs import Line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step 10/200 loss 0.25", "step 10/200, loss 0.25"),
        ("Epoch 3 of 10", "step 3/10"),
        ("epoch=2, loss=1e-4", "step 2, loss 1e-4"),
        ("iter: 7 | loss: 2.5", "step 7, loss 2.5"),
        ("{'loss': 0.5}", None),
        ("step 5", None),
        ("footstep 5 loss 1", None),
        ("", None),
    ],
)
def test_a_line_that_tells_how_far_the_job_is(text: str, said: str | None) -> None:
    at = progress_of(text)
    assert (str(at) if at else None) == said


def bare(text: str) -> str:
    return click.unstyle(text)


def test_tags_stand_below_each_other_and_each_has_a_colour_of_its_own() -> None:
    tags = Tags()
    first, second = tags.line(Line("node", 0, "a", rank=10)), tags.line(Line("node", 0, "b", rank=9))
    assert bare(first) == "rank 10 | a"
    assert bare(second) == "rank 9  | b"
    assert first.partition("rank")[0] != second.partition("rank")[0]
    assert tags.line(Line("node", 0, "a", rank=10)) == first


def test_the_time_and_the_container_are_told_where_they_are_known() -> None:
    line = Line("node", 1, "a", container="side", time="2026-01-02T03:04:05Z")
    assert bare(Tags().line(line)) == "node-1/side | 2026-01-02T03:04:05Z a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x07bell \x08back\ttab", "bell back\ttab"),
        ("\x1b[31mred", "\x1b[31mred\x1b[0m"),
        ("\x1b[2J\x1b[1;1Hgone\x1b[?25l", "gone"),
        ("\x1b]0;title\x07", "]0;title"),
        (" 10%\r 50%\r100% 8.1 it/s", "100% 8.1 it/s"),
    ],
)
def test_a_program_may_choose_colours_but_not_move_the_cursor(text: str, shown: str) -> None:
    tag = click.style("node-0 |", fg="cyan")
    assert Tags().line(Line("node", 0, text)) == f"{tag} {shown}"
