"""Every example gets exactly the errors and warnings it declares, and every rule of structure has an example."""

import re
from pathlib import Path

import pytest

from tests.places import ROOT
from trainplane.api.problem import Severity
from trainplane.lint import lint

EXAMPLES = ROOT / "examples"
FILES = sorted(EXAMPLES.rglob("*.yaml"))
_EXPECT = re.compile(r"^# expect:(.*)$", re.MULTILINE)


def expected(path: Path) -> list[str]:
    """The ids that an example declares, in a comment such as `# expect: TP067`."""
    return sorted(" ".join(_EXPECT.findall(path.read_text(encoding="utf-8"))).split())


def name(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_an_example_gets_the_warnings_it_deserves(path: Path) -> None:
    findings = lint([(name(path), path.read_bytes())])
    heard = [found for found in findings.located if found.severity is not Severity.INFO]
    assert sorted(found.problem.rule.id for found in heard) == expected(path), "\n".join(map(str, heard))


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name != "mistakes"], ids=name)
def test_a_good_example_is_not_refused(path: Path) -> None:
    assert not lint([(name(path), path.read_bytes())]).refused


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name == "mistakes"], ids=name)
def test_a_mistake_names_its_rule_and_gets_a_remedy(path: Path) -> None:
    assert expected(path), "a mistake says `# expect: TPxxx`"
    for found in lint([(name(path), path.read_bytes())]).located:
        if found.severity is not Severity.INFO:
            assert found.problem.todo, str(found)
            assert found.line > 2, "the position is in the document, not in the comments above it"


def test_examples_can_be_linted_all_at_once() -> None:
    """TrainJobs then meet the runtimes of other files; no good example is refused for that."""
    good = [path for path in FILES if path.parent.name != "mistakes"]
    findings = lint((name(path), path.read_bytes()) for path in good)
    assert not findings.refused
    assert findings.files == len(good)
    named = [found for found in findings.located if found.problem.rule.id == "TP107"]
    assert named == [], "each example's runtime is among the examples"


def test_every_name_is_used_once() -> None:
    """Two good examples with one name would overwrite each other on a cluster."""
    seen: dict[tuple[str, ...], str] = {}
    import yaml

    for path in FILES:
        if path.parent.name == "mistakes":
            continue
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            metadata = document["metadata"]
            key = (document["kind"], metadata.get("namespace", ""), metadata["name"])
            assert key not in seen, f"{name(path)} and {seen.get(key)}"
            seen[key] = name(path)
