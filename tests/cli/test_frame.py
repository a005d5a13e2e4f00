"""The frame of the command line: unknown words, help, and every way to leave."""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import trainplane as package
from tests.patience import PATIENCE
from trainplane import __version__
from trainplane.api.problem import Rule
from trainplane.cli.group import load
from trainplane.cli.help import rules
from trainplane.cli.main import VERBS

BUFFERED = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
"""Output waits in a buffer, as it does for most people: what cannot be written is noticed late."""


def trainplane(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainplane", *args],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **env},
        check=False,
    )


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str) -> None:
    assert trainplane(flag).stdout == f"trainplane {__version__}\n"


def test_version_loads_nothing_it_does_not_need() -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trainplane", "--version"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stderr
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.splitlines()}
    assert modules.isdisjoint({"click", "msgspec", "yaml", "rich", "orjson", "jsonschema_rs", "aiohttp"})


def test_an_unknown_verb_gets_the_nearest_one() -> None:
    answer = trainplane("lnt", "x.yaml")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "Error: there is no verb 'lnt'; did you mean 'lint'?\n"


def test_an_unknown_verb_unlike_any_other_gets_the_first_of_the_list() -> None:
    answer = trainplane("zzzzzz")
    assert answer.returncode == 2
    assert answer.stderr == f"Error: there is no verb 'zzzzzz'; use one of {', '.join([*VERBS][:12])}, …\n"


def test_help_lists_every_verb_and_topic() -> None:
    answer = trainplane("help")
    assert answer.returncode == 0
    for word in (*VERBS, "rules", "exit-codes", "environment", "completion"):
        assert f"  {word} " in answer.stdout


@pytest.mark.parametrize("spelling", ["TP001", "tp001"])
def test_help_explains_a_rule(spelling: str) -> None:
    answer = trainplane("help", spelling)
    assert answer.returncode == 0
    assert answer.stdout.startswith("TP001 (error): The file is not text\n")
    assert "Save it as UTF-8" in " ".join(answer.stdout.split())


@pytest.mark.parametrize(("word", "near"), [("TP0001", "TP001"), ("rulez", "rules"), ("convrt", "convert")])
def test_help_for_an_unknown_topic_names_the_nearest(word: str, near: str) -> None:
    answer = trainplane("help", word)
    assert answer.returncode == 2
    assert f"did you mean {near!r}?" in answer.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_is_the_verbs_own(verb: str) -> None:
    asked, own = trainplane("help", verb), trainplane(verb, "--help")
    assert asked.returncode == own.returncode == 0
    assert asked.stdout == own.stdout
    assert f"Usage: trainplane {verb}" in own.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_of_verbs_says_what_each_verb_says_of_itself(verb: str) -> None:
    assert load(verb).get_short_help_str(limit=200).rstrip(".") == VERBS[verb].rstrip(".")


def test_help_lists_every_rule() -> None:
    listed = [line.split()[0] for line in trainplane("help", "rules").stdout.splitlines()]
    assert listed == sorted(listed) == list(rules())


def test_no_rule_is_missing_and_no_two_share_an_id() -> None:
    modules = [import_module(module.name) for module in walk_packages(package.__path__, "trainplane.")]
    every = {value for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    assert sorted(rule.id for rule in every) == list(rules())


def _run_in(tmp_path: Path, body: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a verb whose body is given: a stand-in for any verb that fails in this way."""
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, types, click\n"
        "from trainplane.cli import group, main\n"
        "main.VERBS['boom'] = 'Fail.'\n"
        "module = types.ModuleType('trainplane.cli.boom')\n"
        "@click.command()\n"
        "def boom():\n"
        f"    {body}\n"
        "module.boom = boom\n"
        "sys.modules['trainplane.cli.boom'] = module\n"
        "sys.exit(group.run(['boom']))\n"
    )
    return subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **env},
        check=False,
    )


def test_an_internal_error_is_one_line(tmp_path: Path) -> None:
    answer = _run_in(tmp_path, "raise ZeroDivisionError('a\\nb')")
    assert answer.returncode == 70
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("trainplane: internal error: ZeroDivisionError: a b; please report it")


def test_an_internal_error_shows_its_traceback_when_asked(tmp_path: Path) -> None:
    answer = _run_in(tmp_path, "raise ZeroDivisionError('oh')", TRAINPLANE_DEBUG="1")
    assert answer.returncode == 70
    assert "Traceback" in answer.stderr
    assert "in boom" in answer.stderr


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    answer = _run_in(tmp_path, f"import os; os.kill(os.getpid(), {signal.SIGINT.value}); import time; time.sleep(9)")
    assert answer.returncode == 130
    assert answer.stderr.strip() == ""


@pytest.mark.parametrize("lines", [1, 100_000], ids=["left in the buffer", "more than a pipe holds"])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, lines: int) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\nfrom trainplane.cli import group, help\n"
        f"help.TOPICS['long'] = ('', 'x\\n' * {lines})\n"
        "sys.stdin.read()\nsys.exit(group.run(['help', 'long']))\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=BUFFERED,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


def test_a_full_disk_is_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full: it plays the disk that has no room left")
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "trainplane", "help"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=BUFFERED,
            timeout=PATIENCE,
            check=False,
        )
    assert answer.returncode == 74
    assert answer.stderr == b"trainplane: No space left on device\n"


def test_a_terminal_that_knows_only_ascii_is_served() -> None:
    assert trainplane("help", "rules", PYTHONIOENCODING="ascii").returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_there(shell: str) -> None:
    answer = trainplane(_TRAINPLANE_COMPLETE=f"{shell}_source")
    assert answer.returncode == 0
    assert "trainplane" in answer.stdout


def test_completion_knows_the_verbs() -> None:
    answer = trainplane(_TRAINPLANE_COMPLETE="bash_complete", COMP_WORDS="trainplane ", COMP_CWORD="1")
    assert {line.partition(",")[2] for line in answer.stdout.splitlines()} == set(VERBS)
