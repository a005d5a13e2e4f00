"""Pod Security: what pods may not ask of the machine, by the levels that their namespace's labels set.

Without a label the level is baseline, since every namespace here is on a machine that people share; only who may
label namespaces can allow more. A namespace that says nothing of warnings warns of what it would refuse, so that the
author of a Job hears at once what its pods would run into.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, invalid
from trainplane.cluster.names import value_faults
from trainplane.cluster.pod_security_checks import (
    BASELINE,
    CHECKS,
    LATEST,
    PRIVILEGED,
    RESTRICTED,
    Violation,
    asks_nothing,
)

PREFIX = "pod-security.kubernetes.io/"
ENFORCE, AUDIT, WARN = f"{PREFIX}enforce", f"{PREFIX}audit", f"{PREFIX}warn"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
_VERSION = re.compile(r"v1\.([0-9]+)\Z")


class Policy(NamedTuple):
    """A level, as some version of Kubernetes has it."""

    level: str
    version: str = "latest"

    def __str__(self) -> str:
        """As refusals show it."""
        return f"{self.level}:{self.version}"

    @property
    def minor(self) -> int:
        """The version as a number."""
        found = _VERSION.match(self.version)
        return int(found[1]) if found else LATEST


def policy(namespace: Raw | None, mode: str) -> Policy:
    """What a namespace says of one mode: what is refused, warned of or noted."""
    labels = look(namespace, "metadata", "labels") or {}
    if mode != ENFORCE and mode not in labels:
        return policy(namespace, ENFORCE) if mode == WARN else Policy(PRIVILEGED)
    level = labels.get(mode, BASELINE)
    return Policy(level if level in LEVELS else RESTRICTED, labels.get(f"{mode}-version", "latest"))


def violations(spec: Mapping[str, Any], wanted: Policy) -> list[Violation]:
    """What of a pod's spec a policy does not allow."""
    if wanted.level == PRIVILEGED or (wanted.level == BASELINE and asks_nothing(spec)):
        return []
    ours = [each for each in CHECKS if wanted.level == RESTRICTED or each.level == BASELINE]
    ours = [each for each in ours if each.since <= wanted.minor]
    replaced = {each.replaces for each in ours}
    found = (each.check(spec, wanted.minor) for each in ours if each.name not in replaced)
    return [violation for violation in found if violation]


def told(found: Iterable[Violation]) -> str:
    """Violations in words."""
    return ", ".join(map(str, found))


def label_causes(labels: Mapping[str, str]) -> Iterator[Cause]:
    """What is wrong with the labels of a namespace that speak of pod security."""
    for mode in (ENFORCE, AUDIT, WARN):
        level, version = labels.get(mode), labels.get(f"{mode}-version")
        if level is not None and level not in LEVELS and not any(value_faults(level)):
            yield invalid(f"metadata.labels[{mode}]", level, f"must be one of {', '.join(LEVELS)}")
        if version not in (None, "latest") and not _VERSION.match(version) and not any(value_faults(version)):
            yield invalid(f"metadata.labels[{mode}-version]", version, 'must be "latest" or "v1.x"')


def warnings_of_pods(new: Raw, old: Raw, pods: Iterable[Raw]) -> Iterator[str]:
    """Which pods a namespace has that it would not take any more."""
    before, after = policy(old, ENFORCE), policy(new, ENFORCE)
    is_looser = before.version == after.version and LEVELS.index(after.level) <= LEVELS.index(before.level)
    if before == after or after.level == PRIVILEGED or is_looser:
        return
    names: dict[str, list[str]] = {}
    for pod in pods:
        found = violations(pod.get("spec") or {}, after)
        if found:
            names.setdefault(", ".join(each.name for each in found), []).append(pod["metadata"]["name"])
    if not names:
        return
    space = new["metadata"]["name"]
    yield f'existing pods in namespace "{space}" violate the new PodSecurity enforce level "{after}"'
    for reasons, those in sorted(names.items(), key=lambda item: item[1][0]):
        others = len(those) - 1
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        yield f"{those[0]}{more}: {reasons}"
