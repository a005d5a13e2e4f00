"""Writes docs/coverage.md: every block of the documents Trainplane was made from, and what becomes of it here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT, checklist
from tools.generated import NOTICE, main
from trainplane.api.problem import Located, Severity
from trainplane.lint import lint

PATH = ROOT / "docs" / "coverage.md"
EXAMPLES = ROOT / "examples"

_FENCE = re.compile(r"^(?P<indent> *)```\s*(?P<language>[A-Za-z]*)\s*$")
_BARE_START = re.compile(r"(apiVersion|mlPolicy|replicatedJobs):")
_JOB = """\
- name: node
  template:
    spec:
      template:
        spec:
          containers:
          - name: node
            image: registry.example.com/train:1
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document: where it begins, its language, and its lines without the fence's own indentation."""

    document: str
    line: int
    language: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The block as a file would hold it."""
        return "\n".join(self.lines) + "\n"

    @property
    def opening(self) -> str:
        """Its first words."""
        words = [line.partition("#")[0].strip() for line in self.lines]
        found = [word for word in words if word] or [line.strip() for line in self.lines]
        return " ".join(found)[:60].strip()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What lint says of a block, with lines counted in the document that holds it."""

    block: Block
    located: tuple[Located, ...]
    shift: int
    """How many lines stand before the block's first in the text that was linted."""

    @property
    def errors(self) -> list[Located]:
        """What refuses it."""
        return [found for found in self.located if found.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Located]:
        """What it deserves to hear."""
        return [found for found in self.located if found.severity is Severity.WARNING]

    def line(self, found: Located) -> int:
        """The line of the document."""
        return self.block.line + found.line - self.shift - 1

    def __str__(self) -> str:
        """In a few words."""
        if self.errors:
            faults = [f"{found.problem.rule.id} at line {self.line(found)}" for found in self.errors]
            return f"refused: {', '.join(dict.fromkeys(faults))}"
        ids = sorted({found.problem.rule.id for found in self.warnings})
        return f"accepted with {', '.join(ids)}" if ids else "accepted"


def documents(folder: Path) -> list[Path]:
    """The documents, in the order of their numbers."""
    return sorted((folder / "seeds").glob("*.txt"))


def blocks(path: Path) -> list[Block]:
    """Every block of a document. Where a page has lost its fences, blocks are told by their first words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    name = path.name.partition("_")[0]
    found = [Block(name, *block) for block in _fenced(lines)]
    return found or [Block(name, *block) for block in _bare(lines)]


def _fenced(lines: list[str]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if opening is None or not opening["language"]:
            continue
        indent, start = len(opening["indent"]), at
        while at < len(lines) and not _FENCE.match(lines[at]):
            # A fence inside a list item ends with the item, closed or not.
            if lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) < indent:
                break
            at += 1
        yield start + 1, opening["language"].lower(), tuple(line[indent:] for line in lines[start:at])
        closing = _FENCE.match(lines[at]) if at < len(lines) else None
        at += closing is not None and not closing["language"]


def _bare(lines: list[str]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    at = 0
    while at < len(lines):
        start = at
        at += 1
        if _BARE_START.match(lines[start]):
            # Prose begins with a capital letter; no line of these blocks does.
            while at < len(lines) and not lines[at][:1].isupper():
                at += 1
            yield start + 1, "yaml", tuple(lines[start:at])


def judge(block: Block) -> Verdict:
    """Lint a block: a whole document as it is, a fragment in the smallest document that can hold it."""
    before, text = whole(block)
    return Verdict(block, lint([(f"{block.document}:{block.line}", text)]).located, before)


def whole(block: Block) -> tuple[int, str]:
    """The text of a block as a document, and how many lines were put before it."""
    keys = [line.partition(":")[0].strip() for line in block.lines if line.strip() and not line.strip().startswith("#")]
    first = keys[0]
    if first == "apiVersion":
        return 0, block.text
    kind = "apiVersion: ome.io/v1beta1\nkind: TrainingRuntime\n"
    if first == "metadata":
        named = "" if "name" in keys[: keys.index("spec")] else "  name: fragment\n"
        return 2, kind + block.text.replace("metadata:\n", f"metadata:\n{named}", 1)
    head = f"{kind}metadata:\n  name: fragment\n"
    if first == "spec":
        return 4, head + _completed(block.text)
    spec = f"{head}spec:\n"
    if first == "mlPolicy":
        return 5, spec + _indented(block.text, 2) + _template()
    if first == "replicatedJobs":
        return 7, f"{spec}  template:\n    spec:\n" + _indented(block.text, 6)
    labels = f"{kind}metadata:\n  name: fragment\n  labels:\n"
    return 5, labels + _indented(block.text, 4) + "spec:\n" + _template()


def _completed(text: str) -> str:
    """A fragment of a spec with what it leaves out: the template, or the containers of its pod."""
    if not re.search(r"^  template:", text, re.MULTILINE):
        return text + _template()
    if "containers:" not in text:
        # Such a fragment ends inside the pod.
        last = text.rstrip("\n").rpartition("\n")[2]
        indent = len(last) - len(last.lstrip())
        return text + _indented("containers:\n- name: trainer\n", indent)
    return text


def _template() -> str:
    return "  template:\n    spec:\n      replicatedJobs:\n" + _indented(_JOB, 6)


def _indented(text: str, indent: int) -> str:
    return "".join(f"{' ' * indent}{line}\n" if line.strip() else "\n" for line in text.splitlines())


@dataclass(frozen=True, slots=True)
class Row:
    """What a block shows, and which examples of ours show the same."""

    shows: str
    examples: tuple[str, ...]


def _row(shows: str, *examples: str) -> Row:
    return Row(shows, tuple(f"{example}.yaml" for example in examples))


ROWS: dict[str, dict[int, Row]] = {
    "000": {
        26: _row("a whole runtime: torch policy, gang, worker job", "ome/first-runtime"),
        62: _row("torch policy with elastic bounds and a starting size", "ome/ml-policy-elastic-start"),
        77: _row("coscheduling with a timeout", "ome/pod-group"),
        87: _row("JobSet template with labels and GPU resources", "ome/jobset-template"),
        115: _row("torchrun with an explicit rendezvous", "ome/torch-ddp"),
        158: _row("elastic torch with autoscaling metrics", "ome/torch-elastic"),
        200: _row("Open MPI with launcher and workers", "ome/mpi-open"),
        248: _row("Intel MPI, workers only", "ome/mpi-intel-workers-only", "ome/mpi-intel-with-launcher"),
        279: _row("coscheduling, waiting ten minutes", "ome/pod-group"),
        289: _row("Volcano with minMember, queue and priority", "ome/pod-group-volcano"),
        302: _row("a whole node of GPUs, by node selector", "ome/gpus"),
        326: _row("RDMA devices and IPC_LOCK", "ome/rdma"),
        356: _row("a runtime for every namespace, with a placeholder in its arguments", "ome/cluster-runtime"),
        383: _row("OME's labels, NCCL tuning, chosen GPUs", "ome/labels-and-nccl", "mistakes/chosen-gpus"),
        414: _row("restarts at every level", "ome/fault-tolerance", "mistakes/restarts-multiply"),
        435: _row("variables, a ConfigMap and a claim as volumes", "ome/environment"),
        471: _row("metrics and profiler ports with OME's annotations", "ome/metrics"),
        495: _row("logging variables and a volume for logs", "ome/logging"),
        579: _row("a Role that names a cluster-scoped resource", "ome/access", "mistakes/role-cluster-scoped"),
        594: _row("security contexts of pod and container", "ome/pod-security"),
    },
    "001": {
        18: _row("jobs with names only", "guides/cluster-runtime-three-stages", "mistakes/names-only"),
        41: _row(
            "a TrainJob in an older version, ending in three dots",
            "guides/trainjob-cluster-runtime",
            "mistakes/bare-ellipsis",
        ),
        60: _row("a pod where a JobSet is meant", "guides/team-runtime", "mistakes/containers-in-jobset"),
        89: _row(
            "a TrainJob in the runtime's namespace, ending in three dots",
            "guides/trainjob-team-runtime",
            "mistakes/bare-ellipsis",
        ),
        108: _row("torch policy with a process per GPU", "guides/ml-policy"),
        128: _row(
            "two stages, indented unevenly", "guides/plain-stage-before-trainer", "mistakes/two-stages-misaligned"
        ),
        163: _row("ancestor labels on three stages", "guides/ancestor-labels"),
    },
    "002": {
        13: _row("a cluster runtime that prints its environment", "kubeflow/torch-probe", "mistakes/indentation-lost"),
        46: _row("a TrainJob that names an older group", "kubeflow/trainjob-other-group", "mistakes/indentation-lost"),
        59: _row("the same runtime for one namespace", "kubeflow/team-probe", "mistakes/indentation-lost"),
        93: _row(
            "an older group's TrainJob in the runtime's namespace",
            "kubeflow/trainjob-team-probe",
            "mistakes/indentation-lost",
        ),
        107: _row("torch policy with a process per GPU", "guides/ml-policy", "mistakes/policy-indentation"),
        124: _row(
            "a model initializer before an unlabelled trainer",
            "kubeflow/model-then-trainer",
            "mistakes/indentation-lost",
        ),
        170: _row(
            "three labelled stages, each after the other",
            "kubeflow/staged-fine-tuning",
            "mistakes/indentation-lost",
        ),
    },
    "003": {
        21: _row("all fields beside an empty spec", "guides/two-unlabelled-stages", "mistakes/beside-empty-spec"),
        41: _row(
            "kind and name of the reference swapped, three dots",
            "guides/trainjob-right-kind",
            "mistakes/reference-swapped",
        ),
        59: _row(
            "mlPolicy.pytorch, a pod as JobSet, uneven list items",
            "guides/team-runtime",
            "mistakes/policy-pytorch",
            "mistakes/list-item-indentation",
        ),
        78: _row(
            "a TrainJob of version v2, reference beside spec, three dots",
            "guides/trainjob-v2",
            "mistakes/trainjob-beside-empty-spec",
        ),
        96: _row("torch policy with a process per GPU", "guides/ml-policy"),
        126: _row("pods one level too high", "guides/plain-stage-before-trainer", "mistakes/containers-in-job"),
        151: _row(
            "a pod straight under the replicated job",
            "guides/volumes-for-the-trainer",
            "mistakes/containers-in-replicated-job",
        ),
    },
    "004": {
        22: _row("a cluster runtime with framework and ancestor labels", "kubeflow/torch-labelled"),
        55: _row("the smallest TrainJob", "kubeflow/trainjob"),
        76: _row("a namespaced runtime with both labels", "kubeflow/team-runtime-labelled"),
        109: _row("a TrainJob in the runtime's namespace", "kubeflow/trainjob-team"),
        127: _row("the framework label", "kubeflow/framework-label"),
        171: _row("the deprecation label", "kubeflow/deprecated", "mistakes/uses-deprecated"),
    },
}
"""Document and line of a YAML block → what it shows and our examples of the same."""

COMMANDS: dict[int, str] = {
    525: "PodGroups, nodes and scheduler: the embedded cluster's API; `trainplane why` in place of the scheduler's log",
    537: "exec into a pod: the embedded cluster; `trainplane doctor network` in place of nccl-test",
    549: "nodes, pods and quotas: the embedded cluster's API",
    562: "runtimes, JobSets and logs: the embedded cluster's API",
}
"""Line of a block of commands, all in the first document → the part that will serve it."""


_INTRODUCTION = """\
Trainplane grew out of five documents about training runtimes. Each block of theirs is listed here with what
`trainplane lint` says of it, word for word as it stands there; a fragment is put into the smallest document that can
hold it. Beside it is an example of our own that shows the same. Refused blocks are refused with a position and a
remedy; their first example is the block as it was meant.
"""

_CHECKLIST = """\
The documents also say in prose what runtimes do. Each of these claims is listed with the tests and rules that show it,
or with the part of Trainplane that will; `tools/checklist.yaml` holds the list.
"""


def render(folder: Path) -> str:
    """The page, from the documents in the shared folder."""
    parts = [NOTICE, "# Coverage of the source documents\n", _INTRODUCTION]
    for path in documents(folder):
        found = blocks(path)
        name = found[0].document
        yaml = sum(block.language == "yaml" for block in found)
        parts.append(f"## Document {name}: {yaml} YAML blocks, {len(found) - yaml} of commands\n")
        parts.append("| Line | Begins with | Shows | Our examples | Verdict |\n| ---: | --- | --- | --- | --- |")
        parts.append("\n".join(_line(block) for block in found) + "\n")
    parts += [_CHECKLIST, *checklist.tables()]
    return "\n".join(parts)


def _line(block: Block) -> str:
    opening = f"`{block.opening}`".replace("|", "\\|")
    if block.language != "yaml":
        return f"| {block.line} | {opening} | commands | no manifest | later: {COMMANDS[block.line]} |"
    row = ROWS[block.document][block.line]
    examples = ", ".join(f"[{Path(name).stem}](../examples/{name})" for name in row.examples)
    return f"| {block.line} | {opening} | {row.shows} | {examples} | {judge(block)} |"


if __name__ == "__main__":
    from tests.places import shared

    found = shared()
    if found is None:
        raise SystemExit("the source documents are not here: set TRAINPLANE_SHARED or put `shared` beside the checkout")
    main(PATH, lambda: render(found))
