"""What the API server refuses in the annotations of pods that mean something to it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.cluster.armor import armor_causes
from trainplane.cluster.causes import Cause, invalid
from trainplane.cluster.go_words import json_word
from trainplane.cluster.json_words import json_fault
from trainplane.cluster.paths import path_faults
from trainplane.cluster.placement_causes import toleration_causes

_MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = ("runtime/default", "docker/default", "unconfined")
_NUMBER = re.compile(r"-?[1-9][0-9]*\Z|0\Z")


def annotation_causes(metadata: Mapping[str, Any], spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with annotations that stand at a path, of a pod or a template with this spec."""
    annotations = metadata.get("annotations")
    if not annotations:
        return
    if _MIRROR in annotations and not spec.get("nodeName"):
        words = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{at}[{_MIRROR}]", annotations[_MIRROR], words)
    if annotations.get(_TOLERATIONS):
        yield from _tolerations(annotations[_TOLERATIONS], at)
    cost = annotations.get(_COST)
    if cost is not None and (not _NUMBER.match(cost) or not -(2**31) <= int(cost) < 2**31):
        yield invalid(f"{at}[{_COST}]", cost, "must be a 32bit integer")
    for key, text in annotations.items():
        if key == _SECCOMP or key.startswith(_SECCOMP_OF):
            yield from _seccomp(text, f"{at}.{key}")
    yield from armor_causes(metadata, spec, at)


def _tolerations(text: str, at: str) -> Iterator[Cause]:
    if fault := json_fault(text):
        yield invalid(at, _TOLERATIONS, fault)
        return
    found = json.loads(text)
    if not isinstance(found, list):
        words = f"json: cannot unmarshal {json_word(found)} into Go value of type []core.Toleration"
        yield invalid(at, _TOLERATIONS, words)
        return
    for index, each in enumerate(found):
        if isinstance(each, dict):
            yield from toleration_causes(each, f"{at}.{_TOLERATIONS}[{index}]")


def _seccomp(text: str, at: str) -> Iterator[Cause]:
    if text.startswith("localhost/"):
        for fault in path_faults(text.removeprefix("localhost/")):
            yield invalid(at, text.removeprefix("localhost/"), fault)
    elif text not in _PROFILES:
        yield invalid(at, text, "must be a valid seccomp profile")
