"""Every story comes out as the Job controller of Kubernetes had it."""

from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.job.real import RealStage
from tests.job.stories import STORIES, play, read, show
from tests.job.world import World

OTHERWISE = {
    "pod-deleted-replaced-when-failed": "the delay is read from pods, and this one is gone when it would begin",
}


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_story(story: Path) -> None:
    ours = show(play(read(story), World()))
    theirs = (story / "out.yaml").read_text()
    if story.name in OTHERWISE:
        assert ours != theirs, "it comes out the same now: take it off the list"
    else:
        assert ours == theirs


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_story_on_a_real_cluster(story: Path, real_kubeconfig: Path, golden: Golden) -> None:
    stage = RealStage(real_kubeconfig, f"job-{story.name}"[:60])
    try:
        golden.check(story, show(play(read(story), stage)))
    finally:
        stage.close()
