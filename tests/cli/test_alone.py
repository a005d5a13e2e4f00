"""`run` where no cluster runs: one is there for the time of the job, and what the job left is there afterwards."""

import signal
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters
from tests.patience import PATIENCE
from trainplane.cli.clusters import Refused
from trainplane.cli.places import configured
from trainplane.node.images import ImageMapping

SCRIPT = """\
import os, pathlib
rank = os.environ["JOB_COMPLETION_INDEX"]
print(f"rank {rank} in", os.environ["PATH"].split(":")[0])
pathlib.Path(os.environ["TRAINPLANE_OUTPUT"], f"out-{rank}").write_text(rank)
"""


def script(clusters: Clusters, text: str = SCRIPT) -> str:
    folder = clusters.home / "code"
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text, encoding="utf-8")
    return "code/train.py"


def environment(clusters: Clusters) -> Path:
    """A folder that passes for a virtual environment, with a Python."""
    folder = clusters.home / "env"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("", encoding="utf-8")
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to("/usr/bin/python3")
    return folder


def test_a_job_runs_without_a_cluster_and_is_remembered_by_the_next(clusters: Clusters) -> None:
    done = clusters.run("run", "--runtime", "plain", "--nodes", "2", "--job-name", "digits", script(clusters))
    assert f"no cluster runs, so one does for this job, and ends with it; its data: {clusters.folder()}" in done.stderr
    assert "digits is complete" in done.stderr
    assert sorted(line.split(" in ")[0] for line in done.stdout.splitlines()) == ["node-0 | rank 0", "node-1 | rank 1"]
    assert clusters.state()["running"] is False
    clusters.up()
    assert "digits" in clusters.run("history").stdout
    assert "rank 1" in clusters.run("logs", "digits", "--rank", "1").stdout
    kept = clusters.folder() / "jobs" / "default" / "digits" / "output"
    assert sorted(path.name for path in kept.iterdir()) == ["out-0", "out-1"]


def test_a_job_that_cannot_be_made_is_refused_in_a_sentence_though_the_machine_is_still_tried(
    clusters: Clusters,
) -> None:
    done = clusters.run("run", "--runtime", "plian", script(clusters), code=1)
    assert done.stderr.splitlines()[-1] == "Error: there is no runtime plian; did you mean plain?"
    assert clusters.state()["running"] is False
    assert "complete" in clusters.run("run", "--runtime", "plain", "--nodes", "1", script(clusters)).stderr


def test_images_are_what_the_settings_say_unless_the_command_line_says_otherwise(clusters: Clusters) -> None:
    own, text = environment(clusters), script(clusters)
    file = clusters.home / "config" / "trainplane" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[images]\n"*" = "{own}"\n', encoding="utf-8")
    settings = {"XDG_CONFIG_HOME": str(clusters.home / "config")}
    done = clusters.run("run", "--runtime", "plain", "--nodes", "1", text, **settings)
    assert done.stdout.endswith(f" in {own}/bin\n")
    done = clusters.run("run", "--runtime", "plain", "--nodes", "1", "--map-image", "*=host", text, **settings)
    assert not done.stdout.endswith(f" in {own}/bin\n")


@pytest.mark.parametrize(("word", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_runs_any_more_once_the_command_has_ended(clusters: Clusters, word: int, code: int) -> None:
    text = script(clusters, "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    with clusters.foreground("run", "--runtime", "plain", "--job-name", "long", text) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "node-0 | here\n"
        running.send_signal(word)
        assert running.wait(PATIENCE) == code
    marked = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _mentions(path, str(clusters.home))]
    assert marked == []


def _mentions(path: Path, word: str) -> bool:
    try:
        return word.encode() in path.read_bytes()
    except OSError:
        return False


def test_a_cluster_for_one_job_takes_no_other_and_can_be_stopped(clusters: Clusters) -> None:
    text = script(clusters, "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    with clusters.foreground("run", "--runtime", "plain", "--job-name", "long", text) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "node-0 | here\n"
        said = clusters.refusal("run", "--runtime", "plain", text)
        assert said.startswith("cluster trainplane runs for one job only: process ")
        assert said.endswith("or give this job a cluster of its own with --name NAME")
        assert "long" in clusters.run("get", "jobs").stdout
        clusters.run("down")
        assert running.wait(PATIENCE) == 143
    assert clusters.state()["running"] is False


def test_only_a_cluster_that_stays_can_be_left_with_a_job(clusters: Clusters) -> None:
    said = clusters.refusal("run", "--detach", script(clusters))
    assert said == "no cluster runs that could go on with the job; start one with: trainplane up --detach"


def test_settings_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    for name in ("env", "root"):
        (tmp_path / name).mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    file.write_text('[images]\n"a/*" = "env"\n"b" = "root"\n"*" = "host"\n', encoding="utf-8")
    assert configured(file) == (
        ImageMapping("a/*", environment=tmp_path / "env"),
        ImageMapping("b", root=tmp_path / "root"),
        ImageMapping("*"),
    )
    assert configured(tmp_path / "none.toml") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            'image = 1\n[images]\n"a" = "/no/folder"\n"b" = 2\n',
            [
                "image: there is no such setting; did you mean images?",
                'images."a": /no/folder is not a folder; name a virtual environment, a root folder, or `host`',
                'images."b": this is not a place; name a folder, or "host", in quotes',
            ],
            id="all problems at once",
        ),
        pytest.param(
            "images = 1\n",
            ['images: this is not a table; write [images], and below it lines such as "pytorch/*" = "host"'],
            id="no table",
        ),
        pytest.param(
            "[images\n", ["Expected ']' at the end of a table declaration (at line 1, column 8); "], id="TOML"
        ),
    ],
)
def test_settings_that_are_wrong_are_refused_with_file_place_and_remedy(
    tmp_path: Path, text: str, said: list[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as caught:
        configured(file)
    lines = caught.value.message.splitlines()
    assert len(lines) == len(said)
    for line, sentence in zip(lines, said, strict=True):
        assert line.startswith(f"{file}: {sentence}")
