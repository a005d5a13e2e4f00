"""Every story comes out as JobSet and the Job controller of Kubernetes had it."""

from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.jobset.real import RealJobSets
from tests.jobset.stories import STORIES, play, read, show
from tests.jobset.together import Together


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_story(story: Path) -> None:
    assert show(play(read(story), Together())) == (story / "out.yaml").read_text()


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_story_on_a_real_cluster(story: Path, real_kubeconfig: Path, golden: Golden) -> None:
    stage = RealJobSets(real_kubeconfig, f"jobset-{story.name}"[:60])
    try:
        golden.check(story, show(play(read(story), stage)))
    finally:
        stage.close()
