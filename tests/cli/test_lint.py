"""`trainplane lint`: what people see, which files are read, and the exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

GOOD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits
spec:
  runtimeRef:
    name: torch-distributed
"""
BAD = GOOD.replace("    name: torch", "    kind: my-runtime\n    name: torch")


def lint(*args: str | Path, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainplane", "lint", *map(str, args)],
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **env},
        check=False,
    )


def test_an_error_is_said_with_its_place_its_remedy_and_a_next_step(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(BAD)
    answer = lint(path)
    assert answer.stderr == ""
    assert answer.stdout.splitlines() == [
        f"{path}:7:5: error TP100 spec.runtimeRef.kind: my-runtime looks like the name of a runtime, not like a kind",
        "    did you mean name: my-runtime, kind: ClusterTrainingRuntime?",
        "1 file, 1 document: 1 error, 0 warnings, 0 notes; `trainplane help TP100` explains",
    ]
    assert answer.returncode == 1


def test_notes_and_warnings_do_not_fail() -> None:
    answer = lint("-", given=GOOD)
    assert answer.returncode == 0
    assert answer.stdout.splitlines()[0].startswith("-:7:5: info TP107 spec.runtimeRef.name: ")
    assert answer.stdout.splitlines()[-1].startswith("1 file, 1 document: 0 errors, 0 warnings, 1 note")


def test_quiet_says_only_errors() -> None:
    assert lint("-q", "-", given=GOOD).stdout == "1 file, 1 document: 0 errors, 0 warnings, 0 notes\n"
    assert "TP100" in lint("--quiet", "-", given=BAD).stdout


def test_json_has_the_same_keys_at_all_times() -> None:
    answers = [json.loads(lint("-o", "json", "-", given=text).stdout) for text in (GOOD, BAD, "\x00")]
    for answer in answers:
        assert list(answer) == ["problems", "files", "documents", "errors", "warnings", "notes"]
        for problem in answer["problems"]:
            assert list(problem) == ["id", "severity", "file", "line", "column", "field", "what", "todo"]
    assert [answer["errors"] for answer in answers] == [0, 1, 1]


def test_a_folder_stands_for_its_manifests_in_all_depths(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ("b.yaml", "a.yml", "deep/c.json", "deep/er/d.yaml", "README.md", ".git/e.yaml"):
        (tmp_path / name).write_text(BAD if name != "deep/c.json" else "{}")
    files = [
        line.partition(":")[0] for line in lint(tmp_path, tmp_path / "b.yaml").stdout.splitlines() if "error" in line
    ]
    assert [Path(file).relative_to(tmp_path).as_posix() for file in files[:-1]] == [
        "a.yml",
        "b.yaml",
        "deep/c.json",
        "deep/er/d.yaml",
    ]


def test_a_loop_of_links_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert lint(tmp_path).stdout.splitlines()[-1].startswith("1 file, ")


@pytest.mark.parametrize("what", ["missing", "empty folder", "link to nowhere", "link to itself", "pipe"])
def test_what_cannot_be_read_is_one_line_and_exit_code_2(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.yaml"
    if what == "empty folder":
        path.mkdir()
    elif what == "link to nowhere":
        path.symlink_to(tmp_path / "nowhere")
    elif what == "link to itself":
        path.symlink_to(path)
    elif what == "pipe":
        os.mkfifo(path)
    answer = lint(path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1
    assert str(path) in answer.stderr


def test_one_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b.yaml").write_text(BAD)
    answer = lint(tmp_path)
    assert answer.returncode == 2
    assert "TP100" in answer.stdout
    assert answer.stderr == f"Error: {tmp_path}/a.yaml: No such file or directory\n"


def test_a_name_that_is_not_text_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.yaml"
    with open(path, "w") as stream:
        stream.write(BAD)
    answer = lint(tmp_path)
    assert answer.returncode == 1
    assert "TP100" in answer.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="needs a user other than root: root may read every file")
def test_a_file_that_may_not_be_read_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    path.chmod(0)
    answer = lint(path)
    assert (answer.returncode, answer.stderr) == (2, f"Error: {path}: Permission denied\n")


def test_a_binary_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(bytes(range(256)))
    answer = lint(path)
    assert answer.returncode == 1
    assert "TP001" in answer.stdout


def test_what_a_document_says_cannot_paint_the_terminal() -> None:
    text = BAD.replace("my-runtime", '"my-\\e[31mruntime\\nx"')
    assert "\x1b" not in lint("-", given=text).stdout


@pytest.mark.parametrize("args", [[], ["-o", "xml", "-"], ["--nonsense", "-"]])
def test_unusable_arguments_are_exit_code_2(args: list[str]) -> None:
    assert lint(*args).returncode == 2


def test_colour_is_for_terminals_only() -> None:
    assert "\x1b" not in lint("-", given=BAD).stdout
    for colour, env in ((True, {}), (False, {"NO_COLOR": "1"})):
        master, slave = os.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "trainplane", "lint", "-"],
            stdin=subprocess.PIPE,
            stdout=slave,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env},
        )
        process.communicate(BAD.encode(), timeout=PATIENCE)
        os.close(slave)
        shown = os.read(master, 65536)
        os.close(master)
        assert (b"\x1b[" in shown) is colour


def test_lint_loads_nothing_it_does_not_need() -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trainplane", "lint", "-"],
        input=GOOD,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stderr
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.splitlines()}
    assert modules.isdisjoint({"rich", "jsonschema_rs", "aiohttp", "cryptography", "asyncio", "orjson"})


MISSPELT = GOOD.replace("runtimeRef", "runtimeref")


def test_fix_mends_the_file_shows_the_change_and_lints_the_result(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MISSPELT)
    path.chmod(0o640)
    answer = lint("--fix", path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert path.read_text() == GOOD
    assert path.stat().st_mode & 0o777 == 0o640
    assert [line for line in answer.stdout.splitlines() if line.startswith(("+", "-"))] == [
        f"--- {path}",
        f"+++ {path} (mended)",
        "-  runtimeref:",
        "+  runtimeRef:",
    ]
    assert os.listdir(tmp_path) == ["job.yaml"]
    assert "---" not in lint("--fix", path).stdout


def test_a_dry_run_shows_the_change_and_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MISSPELT)
    answer = lint("--fix", "--dry-run", path)
    assert answer.returncode == 1
    assert "+  runtimeRef:" in answer.stdout
    assert path.read_text() == MISSPELT
    assert lint("--fix", "--dry-run", "-", given=MISSPELT).returncode == 1
    assert lint("--fix", "--dry-run", "-", given=GOOD).returncode == 0


def test_fix_with_json_says_only_json(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MISSPELT)
    assert json.loads(lint("--fix", "-o", "json", path).stdout)["errors"] == 0


@pytest.mark.parametrize("args", [["--dry-run", "x.yaml"], ["--fix", "-"]])
def test_fixing_what_cannot_be_fixed_is_exit_code_2(args: list[str]) -> None:
    answer = lint(*args, given=GOOD)
    assert answer.returncode == 2
    assert "--dry-run" in answer.stderr
