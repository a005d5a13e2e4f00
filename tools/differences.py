"""The second half of docs/differences.md, from the table that the conformance tests read."""

import yaml

from tools import ROOT
from tools.generated import main

PATH = ROOT / "docs" / "differences.md"
TABLE = ROOT / "tests" / "conformance" / "differences.yaml"
CASES = ROOT / "tests" / "conformance" / "trainer"
MARK = "<!-- Written by `make docs` from tests/conformance/differences.yaml. Do not edit below. -->"

INTRODUCTION = """\
Almost three hundred cases recorded from the real Kubeflow Trainer 2.3.0 are run through our admission, pipeline and
controller in `tests/conformance`. What comes out must be equal, leaf by leaf, except for these rows; a row that no case
needs fails the suite, so nothing else can differ. In `case` and `path`, `*` stands for anything; a path that is nothing
else is only there where one of the two refuses what the other takes, so that there is nothing left to compare.
"""


def render() -> str:
    """The page: what people wrote above the mark, and the table below it."""
    above = PATH.read_text(encoding="utf-8").partition(MARK)[0].rstrip("\n")
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    table = ["| What | Kubeflow Trainer 2.3 | Trainplane | Why | Case and path |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        place = f"`{row['case']}` `{row['path']}`" + (f", after `{row['follows']}`" if "follows" in row else "")
        place += ", where it is here alone" if row.get("more") else ""
        cells = [row["what"], row["theirs"], row["ours"], row["why"], place]
        table.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n\n".join([above, MARK, "## Against the recordings", INTRODUCTION.rstrip(), "\n".join(table)]) + "\n"


if __name__ == "__main__":
    main(PATH, render)
