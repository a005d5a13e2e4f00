"""Our types against what a real API server and the real CRDs say; tools/record_facts.py wrote the facts down."""

import json
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import UnsetType

from tools.record_facts import paths
from trainplane.api import meta
from trainplane.api.jobset import JobSet
from trainplane.api.meta import Field, Wire
from trainplane.api.scheduling import PodGroup
from trainplane.api.schema import whole

FACTS = Path(__file__).parent / "facts"
KUBERNETES: dict[str, Any] = json.loads((FACTS / "kubernetes.json").read_text(encoding="utf-8"))
CRDS: dict[str, Any] = json.loads((FACTS / "crds.json").read_text(encoding="utf-8"))

MODULES = (
    *("affinity", "autoscaling", "batch", "claims", "containers", "core", "events", "meta", "network", "nodes", "pod"),
    *("quota", "rbac", "references", "scheduling", "volumes"),
)
OTHER_NAMES = {
    "core.v1.Event": "CoreEvent",
    "core.v1.EventSeries": "CoreEventSeries",
    "discovery.v1.EndpointPort": "SlicePort",
}
EMBEDDED = ("batch.v1.JobTemplateSpec", "core.v1.PodTemplateSpec", "core.v1.PersistentVolumeClaimTemplate")
"""Templates, whose metadata is the little that a CRD keeps of it."""
LENIENT = {("events.v1.Event", "eventTime")}
"""Required by the schema, and yet null in objects that real servers send."""

SCALARS = {
    str: "str",
    bool: "bool",
    int: "int",
    datetime: "Time",
    meta.Int32: "int32",
    meta.Int64: "int64",
    meta.Quantity: "Quantity",
    meta.IntOrString: "IntOrString",
    meta.Base64: "bytes",
    meta.MicroTime: "MicroTime",
    meta.Raw: "object",
}


def types() -> dict[str, type[Wire]]:
    """Every type of the modules, by its name."""
    found: dict[str, type[Wire]] = {}
    for name in MODULES:
        module = import_module(f"trainplane.api.{name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Wire) and value.__module__ == module.__name__:
                assert value.__name__ not in found, f"two types are called {value.__name__}"
                found[value.__name__] = value
    return found


TYPES = types()
NAMES = {name: OTHER_NAMES.get(name, name.rsplit(".", 1)[-1]) for name in KUBERNETES}
DEFINITIONS = {type_name: name for name, type_name in NAMES.items()}


def shape(annotation: Any) -> str:
    """A type in the recorder's words."""
    if annotation in SCALARS:
        return SCALARS[annotation]
    origin = get_origin(annotation)
    if origin is Annotated:
        # What was said around a number's format leaves the format first.
        inner, first = annotation.__origin__, annotation.__metadata__[0]
        return shape(Annotated[inner, first] if Annotated[inner, first] in SCALARS else inner)
    if origin in (Union, UnionType):
        (said,) = (arm for arm in get_args(annotation) if arm is not UnsetType)
        return shape(said)
    if origin is tuple:
        return f"[{shape(get_args(annotation)[0])}]"
    if origin is not None and issubclass(origin, Mapping):
        return "{" + shape(get_args(annotation)[1]) + "}"
    if annotation is meta.EmbeddedMeta:
        return "ObjectMeta"
    return DEFINITIONS[annotation.__name__]


def about(annotation: Any) -> Field:
    """What the annotation of a field says beyond its type."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(arm for arm in get_args(annotation) if arm is not UnsetType)
    if get_origin(annotation) is Annotated:
        return next(about for about in reversed(annotation.__metadata__) if isinstance(about, Field))
    return Field()


def semantics(field: Field) -> dict[str, Any]:
    """List and merge semantics in the recorder's words."""
    said = {
        "list-type": field.list_type,
        "list-map-keys": list(field.keys),
        "map-type": field.map_type,
        "patch-merge-key": field.merge_key,
        "patch-strategy": field.patch_strategy,
    }
    return {word: value for word, value in said.items() if value}


def facts_of(name: str, type_: type[Wire]) -> dict[str, Any]:
    """What our type says, in the recorder's words."""
    fields = {}
    for field in msgspec.structs.fields(type_):
        told = about(field.type)
        default = None if isinstance(told.default, UnsetType) else told.default
        required = field.required or (name, field.encode_name) in LENIENT
        fields[field.encode_name] = [shape(field.type), required, default, semantics(told)]
    facts: dict[str, Any] = {"fields": dict(sorted(fields.items()))}
    schema: Field | None = getattr(type_, "SCHEMA", None)
    if schema is not None and schema.map_type:
        facts["map-type"] = schema.map_type
    return facts


@pytest.mark.parametrize("name", KUBERNETES)
def test_a_type_says_what_the_api_server_says(name: str) -> None:
    ours, theirs = facts_of(name, TYPES[NAMES[name]]), json.loads(json.dumps(KUBERNETES[name]))
    if "apiVersion" in ours["fields"] and "spec" in ours["fields"]:
        # No schema requires the spec of a kind, but no server takes an object without what is required in it.
        ours["fields"]["spec"][1] = theirs["fields"]["spec"][1]
    assert ours == theirs


@pytest.mark.parametrize("name", EMBEDDED)
def test_templates_keep_the_metadata_that_crds_keep(name: str) -> None:
    (metadata,) = (f for f in msgspec.structs.fields(TYPES[NAMES[name]]) if f.name == "metadata")
    assert meta.EmbeddedMeta in get_args(metadata.type)


@pytest.mark.parametrize(
    ("crd", "type_"), [("jobsets.jobset.x-k8s.io", JobSet), ("podgroups.scheduling.x-k8s.io", PodGroup)]
)
def test_a_custom_type_says_what_its_crd_says(crd: str, type_: type[Wire]) -> None:
    theirs = {key.partition(" ")[2]: words for key, words in CRDS.items() if key.startswith(crd)}
    ours = dict(paths(whole(type_), ""))
    assert ours == theirs
