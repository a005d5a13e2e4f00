"""What the documents say is so: paths and modules exist, links lead somewhere, commands print what is shown."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from tests.places import ROOT
from tools import console
from tools.markdown import Fence, anchors, documents, fences, links, names

PAGES = documents()
BLOCKS = [fence for page in PAGES for fence in fences(page)]
COMMANDS = [pytest.param(shown, id=f"{block} {shown.command}") for block in BLOCKS for shown in console.commands(block)]


def _page(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _is_path(name: str) -> bool:
    """Whether a name in backticks is a path of ours: a known first folder, or a file name with an ending we use."""
    if re.search(r"[\s:$<>{}()…\[\]=,|]", name) or name.startswith(("/", "http", "..", "-")):
        return False
    tops = {entry.name for entry in ROOT.iterdir()} | {entry.name for entry in (ROOT / "src/trainplane").iterdir()}
    first = name.split("/", 1)[0]
    has_ending = re.search(r"\.(py|md|toml|txt|sh|cfg)$", name) is not None
    return ("/" in name and first in tops and first != "trainplane") or has_ending


def _exists(name: str, page: Path) -> bool:
    if "/" not in name and any((ROOT / "src").rglob(name)):
        return True
    bases = (ROOT, ROOT / "src/trainplane", page.parent)
    return any(any(base.glob(name.rstrip("/"))) for base in bases)


@pytest.mark.parametrize("page", PAGES, ids=_page)
def test_every_path_named_exists(page: Path) -> None:
    missing = [name for name in names(page) if _is_path(name) and not _exists(name, page)]
    assert not missing, f"{_page(page)} names files that are not there: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=_page)
def test_every_module_named_exists(page: Path) -> None:
    missing = [name for name in names(page) if re.fullmatch(r"trainplane(\.\w+)+", name) and not _resolves(name)]
    assert not missing, f"{_page(page)} names modules or members that are not there: {missing}"


def _resolves(name: str) -> bool:
    module, _, member = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        try:
            return hasattr(import_module(module), member)
        except ModuleNotFoundError:
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=_page)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken, f"{_page(page)} has links that lead nowhere: {broken}"


@pytest.mark.parametrize("shown", COMMANDS)
def test_a_command_prints_what_is_shown(shown: console.Shown) -> None:
    actual = console.run(shown.command)
    assert console.agrees(shown.output, actual), f"run `make docs`; it prints now:\n{actual}"


def _whole(fence: Fence) -> bool:
    """Whether a YAML block is a whole document that should be right: it says its kind, and no mark says otherwise."""
    if fence.language not in ("yaml", "yml") or fence.marks:
        return False
    try:
        read = list(yaml.safe_load_all(fence.text))
    except yaml.YAMLError:
        return True
    return any(isinstance(each, dict) and "apiVersion" in each and "kind" in each for each in read)


@pytest.mark.parametrize("block", [block for block in BLOCKS if _whole(block)], ids=str)
def test_a_yaml_document_lints_without_error(block: Fence) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trainplane", "lint", "-"],
        input=block.text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_output_would_be_noticed() -> None:
    assert console.agrees("a\n…\nd\n", "a\nb\nc\nd\n")
    assert not console.agrees("a\n…\nd\n", "a\nb\nc\n")
    assert not console.agrees("a\n", "a\nb\n")


def test_a_command_for_a_shell_is_refused() -> None:
    with pytest.raises(ValueError, match="no shell"):
        console.run("trainplane lint x | head")
