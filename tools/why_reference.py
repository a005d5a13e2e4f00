"""docs/why.md, from the table of causes and the worlds that show each of them."""

from tests.why.worlds import CASES, read, world
from tools import ROOT
from tools.generated import NOTICE, main
from trainplane.why.cause import Cause, Check
from trainplane.why.scene import Scene
from trainplane.why.why import CAUSES, FAILURES, cause_of

PATH = ROOT / "docs" / "why.md"

INTRODUCTION = """\
`trainplane why JOB` says in one sentence what keeps a TrainJob from going on: what is the matter, with names and
numbers, since when, and the way out. The same sentence is in the TrainJob's `status.summary.message`, so that
`kubectl get trainjob JOB -o jsonpath={.status.summary.message}` shows it too.

Causes are looked for in this order, and the first that is found is told: what follows from it would only mislead. Each
row has an example; `tests/why/broken` has jobs that are broken so, with the sentence that the whole cluster comes to.
"""
TABLES = (
    ("Jobs that have not ended", CAUSES),
    ("Jobs that have failed", FAILURES),
)


def render() -> str:
    """The page: both tables, in the order in which causes are looked for."""
    shown = examples()
    parts = [NOTICE, "# Why a job waits, or has failed", INTRODUCTION.rstrip()]
    for title, table in TABLES:
        rows = ["| Cause | When | Example |", "| --- | --- | --- |"]
        for check in table:
            found = shown.get((title, check), [])
            ids = ", ".join(dict.fromkeys(f"`{cause.id}`" for cause in found)) or f"`{check.__name__}`"
            example = found[0].told().replace("|", "\\|") if found else ""
            rows.append(f"| {ids} | {(check.__doc__ or '').strip()} | {example} |")
        parts += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def examples() -> dict[tuple[str, Check], list[Cause]]:
    """The causes that are found in the worlds of the tests, by the table and the check that found them."""
    shown: dict[tuple[str, Check], list[Cause]] = {}
    for case in CASES:
        made = world(read(case / "in.yaml"))
        scene = Scene(made.job, made.view, made.now)
        cause = cause_of(made.job, made.view, made.now)
        title, table = TABLES[1] if scene.failed is not None else TABLES[0]
        check = next((one for one in table if (found := one(scene)) is not None and found == cause), None)
        if check is not None and cause is not None:
            shown.setdefault((title, check), []).append(cause)
    return shown


if __name__ == "__main__":
    main(PATH, render)
