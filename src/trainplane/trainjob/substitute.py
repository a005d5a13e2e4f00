"""Names in commands: `$(NUM_NODES)`, `${NUM_NODES}` and `$NUM_NODES` where no shell would fill them in.

A command without a shell gets the value in place of the name. The text of a shell script stays as it is, because a
shell fills names in by itself: the variable is put into its environment instead. `$$` escapes, as Kubernetes has it.
Names that the container's own environment defines, and names that nobody knows, are left for the container.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UnsetType

from trainplane.api.meta import Raw
from trainplane.api.policies import MPI
from trainplane.api.problem import Path, Problem
from trainplane.api.roles import Role
from trainplane.trainjob.framework_rules import COUNT_UNKNOWN
from trainplane.trainjob.frameworks.variables import (
    POD_NUMBER,
    PORT,
    Variable,
    address,
    env_of,
    inject,
    place_of,
    with_env_list,
)
from trainplane.trainjob.plan import Plan, Source

MASTER = ("MASTER_ADDR", "MASTER_PORT")
"""Put into the environment wherever they are spoken of: torch's own `env://` reads them there as well."""
RANK = "NODE_RANK"
"""Different in every pod, so that only the pod itself can fill it in."""
UNKNOWN = ("WORLD_SIZE", "MPI_NP")
"""What is counted from sizes that may not be known."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"\$(?:(\$)|\(({_NAME})\)|\{{({_NAME})\}}|({_NAME}))")
_MENTION = re.compile(rf"\$(?:(\$)|[({{]?({_NAME}))")
"""Also `${{NAME:-else}}` and the like, which shells understand."""
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh")


class Found(msgspec.Struct):
    """What reading a container's words has brought to light."""

    named: set[str] = msgspec.field(default_factory=set)
    """Names that are spoken of."""
    needed: set[str] = msgspec.field(default_factory=set)
    """Names that must be in the environment."""


def substitute(plan: Plan) -> Plan:
    """The Plan with the names that Trainplane knows filled in, in the containers that train and launch."""
    if not any("$" in word for role in roles(plan) for _, word in words(plan, role)) and not mentions_env(plan):
        return plan
    known = {variable.name: variable for variable in values(plan)}
    for role in roles(plan):
        plan = substituted(plan, role, known)
    return plan


def roles(plan: Plan) -> list[Role]:
    """The jobs whose commands are read: the trainer's and the launcher's."""
    return [role for role in (plan.roles.trainer, plan.roles.launcher) if role and role.container]


def values(plan: Plan) -> Iterator[Variable]:
    """The names that Trainplane knows, with their values and how they were worked out."""
    size, trainer = plan.size, plan.roles.trainer
    elastic = size.min_nodes is not None
    nodes = f"{size.min_nodes}:{size.max_nodes}" if elastic else str(size.nodes)
    for name in ("NUM_NODES", "NNODES"):
        yield Variable(name, nodes, Source("", note=f"{name} is the number of nodes, {nodes}"))
    yield Variable(
        "NPROC_PER_NODE", size.procs, Source("", note=f"NPROC_PER_NODE is the processes on each node, {size.procs}")
    )
    if size.procs != "gpu" and not elastic:
        note = f"{size.nodes} nodes × {size.procs_known} processes"
        yield Variable("WORLD_SIZE", str(size.world), Source("", note=f"WORLD_SIZE is {note}"))
        if is_mpi(plan):
            yield Variable("MPI_NP", str(size.world), Source("", note=f"MPI_NP is {note}"))
    yield Variable("JOB_NAME", plan.name, Source("job", ("metadata", "name"), "JOB_NAME"))
    if plan.namespace:
        yield Variable("JOB_NAMESPACE", plan.namespace, Source("job", ("metadata", "namespace"), "JOB_NAMESPACE"))
    if trainer:
        host, where = address(plan, trainer)
        yield Variable("MASTER_ADDR", host, Source("", note=f"MASTER_ADDR is {where.note}"))
        yield Variable("MASTER_PORT", str(PORT), Source("", note="MASTER_PORT is the port that frameworks meet on"))
    yield Variable(RANK, POD_NUMBER, Source("", note="NODE_RANK is the pod's number in its Job"), from_pod=True)


def is_mpi(plan: Plan) -> bool:
    """Whether mpirun starts the processes."""
    policy = plan.runtime.ml_policy
    return not isinstance(policy, UnsetType) and isinstance(policy.framework, MPI)


def substituted(plan: Plan, role: Role, known: dict[str, Variable]) -> Plan:
    """The Plan with one container's words filled in, and its environment completed."""
    container = role.container.name if role.container else ""
    here = env_of(plan, role.index, container)
    known = {name: v for name, v in known.items() if not _defined_otherwise(here, v)}
    found = Found()
    place = place_of(plan, role.index, container)
    scripts = script_places(plan, role)
    for path, word in words(plan, role):
        if path in scripts:
            mentioned = set(mentions(word))
            found.named |= mentioned
            found.needed |= mentioned & known.keys()
            continue
        new, used = fill(word, known)
        found.named |= set(mentions(word))
        if new != word:
            source = _source(known, used)
            plan = plan.with_pod(role.index, (*place, *path), new, source=source)
    for entry in here:
        mentioned = set(mentions(str(entry.get("value") or "")))
        found.named |= mentioned & known.keys()
        found.needed |= mentioned & known.keys()
    found.needed |= found.named & known.keys() & {*MASTER, RANK}
    plan = with_needed(plan, role, [known[name] for name in known if name in found.needed])
    defined = {entry.get("name") for entry in here}
    for name in UNKNOWN:
        if name in found.named and name not in known and name not in defined and _counts(plan, name):
            what = f"{name} is spoken of by the job {role.name}, and its value is not known beforehand"
            todo = "write a number for numProcPerNode, or let the program ask at run time"
            plan = plan.with_problem(Problem(COUNT_UNKNOWN, ("spec", "trainer"), what, todo))
    return plan


def fill(word: str, known: dict[str, Variable]) -> tuple[str, list[str]]:
    """The word with known names replaced by their values, and the names that were."""
    used: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match[2] or match[3] or match[4]
        if name not in known:
            return match[0]
        used.append(name)
        return f"$({name})" if known[name].from_pod else known[name].value

    return _REFERENCE.sub(value, word), used


def mentions(text: str) -> Iterator[str]:
    """The names that a text refers to, in any of the forms, a shell's own included."""
    return (match[2] for match in _MENTION.finditer(text) if not match[1])


def words(plan: Plan, role: Role) -> list[tuple[Path, str]]:
    """The words of a role's command and args, each with its place in the container."""
    container = (plan.container(role.index, role.container.name) if role.container else None) or {}
    return [
        ((part, i), word)
        for part in ("command", "args")
        for i, word in enumerate(container.get(part) or ())
        if isinstance(word, str)
    ]


def script_places(plan: Plan, role: Role) -> set[Path]:
    """Where the container's words are the text of a shell script: what follows `sh -c`."""
    line = words(plan, role)
    for i, (_, word) in enumerate(line):
        if word.rpartition("/")[2] in _SHELLS:
            script = _script([word for _, word in line[i + 1 :]])
            return set() if script is None else {line[i + 1 + script][0]}
    return set()


def mentions_env(plan: Plan) -> bool:
    """Whether a variable's value refers to another."""
    return any(
        "$" in str(entry.get("value") or "")
        for role in roles(plan)
        if role.container
        for entry in env_of(plan, role.index, role.container.name)
    )


def with_needed(plan: Plan, role: Role, needed: Sequence[Variable]) -> Plan:
    """The Plan with variables in front of a container's own: Kubernetes fills in only what stands further up."""
    container = role.container.name if role.container else ""
    there = {entry.get("name") for entry in env_of(plan, role.index, container)}
    new = [variable for variable in needed if variable.name not in there]
    if not new:
        return plan
    plan = inject(plan, role.index, container, variables=new)
    names = {variable.name for variable in new}
    env = sorted(env_of(plan, role.index, container), key=lambda entry: entry.get("name") not in names)
    return with_env_list(plan, role.index, container, env)


def _script(options: Sequence[str]) -> int | None:
    wanted, skipped = False, 0
    for i, option in enumerate(options):
        if skipped:
            skipped -= 1
        elif not option.startswith(("-", "+")):
            return i if wanted else None
        elif not option.startswith("--"):
            wanted = wanted or (option.startswith("-") and "c" in option)
            skipped = option.casefold().count("o")  # -o pipefail: each takes a word
    return None


def _defined_otherwise(env: Sequence[Raw], variable: Variable) -> bool:
    return any(entry.get("name") == variable.name and entry != variable.entry for entry in env)


def _source(known: dict[str, Variable], used: list[str]) -> Source:
    notes = dict.fromkeys(known[name].source.note for name in used)
    if len(used) == 1:
        source = known[used[0]].source
        return Source(source.document, source.path, source.note)
    return Source("", note="; ".join(notes))


def _counts(plan: Plan, name: str) -> bool:
    return name == "WORLD_SIZE" or is_mpi(plan)
