"""Write down what a real API server says of its types: names, shapes and merge semantics, no prose.

KUBECONFIG=... python -m tools.record_facts tests/api/facts

`kubernetes.json` has every definition that our kinds reach; `crds.json` has JobSet and PodGroup, path by path.
Pod templates inside JobSet are left out there: the CRD carries an older release of them than the API server does,
and only their defaults, which the built-in definitions do not tell apart from Go's zero values, are taken from it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

KINDS = {
    "api/v1": (
        "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolumeClaim Pod ResourceQuota Secret Service "
        "ServiceAccount"
    ),
    "apis/autoscaling/v2": "HorizontalPodAutoscaler",
    "apis/batch/v1": "Job JobTemplateSpec",
    "apis/coordination.k8s.io/v1": "Lease",
    "apis/discovery.k8s.io/v1": "EndpointSlice",
    "apis/events.k8s.io/v1": "Event",
    "apis/node.k8s.io/v1": "RuntimeClass",
    "apis/rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "apis/scheduling.k8s.io/v1": "PriorityClass",
}
CRDS = ("jobsets.jobset.x-k8s.io", "podgroups.scheduling.x-k8s.io")
API = "io.k8s.api."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCALARS = {
    META + "Time": "Time",
    META + "MicroTime": "MicroTime",
    META + "FieldsV1": "object",
    META + "ManagedFieldsEntry": "object",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
}
SEMANTICS = (
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)
POD_SPEC = "spec.replicatedJobs[].template.spec.template.spec"
CRD_WORDS = (
    *SEMANTICS[:3],
    *("type", "format", "default", "enum", "required", "pattern", "minimum", "maximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "x-kubernetes-int-or-string"),
)


def ask(path: str) -> Any:
    """What the API server answers at a path."""
    out = subprocess.run(["kubectl", "get", "--raw", path], check=True, capture_output=True, timeout=60)
    return json.loads(out.stdout)


def name_of(schema: Schema) -> str | None:
    """The definition that a schema refers to."""
    ref: str | None = (schema.get("allOf") or [schema])[0].get("$ref")
    return ref.removeprefix("#/components/schemas/") if ref else None


def short(name: str) -> str:
    """`core.v1.Pod` for `io.k8s.api.core.v1.Pod`."""
    return name.removeprefix(API).removeprefix(META)


def shape(schema: Schema) -> str:
    """A type in one word: `str`, `[core.v1.EnvVar]`, `{Quantity}`."""
    if name := name_of(schema):
        return SCALARS.get(name, short(name))
    match schema["type"]:
        case "array":
            return f"[{shape(schema['items'])}]"
        case "object" if "additionalProperties" in schema:
            return "{" + shape(schema["additionalProperties"]) + "}"
        case "integer":
            return str(schema["format"])
        case "string" if schema.get("format") == "byte":
            return "bytes"
        case other:
            return {"string": "str", "boolean": "bool"}.get(other, other)


def references(schema: Any) -> Iterator[str]:
    """The definitions that a definition refers to."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value.removeprefix("#/components/schemas/")
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


def definitions() -> dict[str, Schema]:
    """Every definition that our kinds reach, by its full name."""
    found: dict[str, Schema] = {}
    for path, kinds in KINDS.items():
        known = ask(f"/openapi/v3/{path}")["components"]["schemas"]
        group = {"rbac.authorization.k8s.io": "rbac"}.get(path.split("/")[-2], path.split("/")[-2].split(".")[0])
        prefix = f"{API}{'core' if path == 'api/v1' else group}.{path.split('/')[-1]}."
        waiting = [prefix + kind for kind in kinds.split()]
        while waiting:
            name = waiting.pop()
            if name not in found and name not in SCALARS:
                found[name] = known[name]
                waiting += references(known[name])
    return found


def crd_defaults(name: str, crd: Schema, known: dict[str, Schema], found: dict[str, Schema]) -> None:
    """Find the definitions that a CRD contains, from `name` on, and the defaults it gives their fields."""
    here = found.setdefault(name, {})
    for field, schema in known[name]["properties"].items():
        inner, told = crd["properties"].get(field), schema
        if inner is None:
            continue
        if "default" in inner:
            here[field] = inner["default"]
        while "items" in told or "additionalProperties" in told:
            step = "items" if "items" in told else "additionalProperties"
            inner, told = inner[step], told[step]
        target = name_of(told)
        if target in known and "properties" in inner and not target.startswith(META):
            crd_defaults(target, inner, known, found)


def own_defaults(definition: Schema) -> Schema:
    """The defaults of a definition that are more than Go's zero values."""
    return {field: schema["default"] for field, schema in definition["properties"].items() if schema.get("default")}


def facts_of(definition: Schema, defaults: dict[str, Any]) -> Schema:
    """What a definition says of each field: [type, required, default or null, list and merge semantics]."""
    fields = {}
    for field, schema in sorted(definition.get("properties", {}).items()):
        semantics = {word.removeprefix("x-kubernetes-"): schema[word] for word in SEMANTICS if word in schema}
        row = [shape(schema), field in definition.get("required", ()), defaults.get(field), semantics]
        fields[field] = row
    facts: Schema = {"fields": fields}
    if "x-kubernetes-map-type" in definition:
        facts["map-type"] = definition["x-kubernetes-map-type"]
    return facts


def paths(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Every place of a CRD's schema, with the words that bind; pod specs are left out."""
    if path == POD_SPEC or path == "metadata":
        return
    words = {word: schema[word] for word in CRD_WORDS if word in schema}
    if "x-kubernetes-validations" in schema:
        words["laws"] = len(schema["x-kubernetes-validations"])
    yield path, words
    for name, child in sorted(schema.get("properties", {}).items()):
        yield from paths(child, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from paths(schema["items"], path + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from paths(schema["additionalProperties"], path + "{}")


def dump(path: Path, facts: Schema) -> None:
    """Write one line for each definition or path, so that a change can be read."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in sorted(facts.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Record the facts into the folder named on the command line."""
    folder = Path(sys.argv[1])
    crds: dict[str, Schema] = {}
    for name in CRDS:
        crd = ask(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        crds[name] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    known = definitions()
    template = crds[CRDS[0]]["properties"]["spec"]["properties"]["replicatedJobs"]["items"]["properties"]["template"]
    defaults = {name: own_defaults(definition) for name, definition in known.items()}
    embedded: dict[str, Schema] = {}
    crd_defaults(API + "batch.v1.JobTemplateSpec", template, known, embedded)
    defaults |= embedded
    dump(
        folder / "kubernetes.json",
        {short(name): facts_of(definition, defaults[name]) for name, definition in known.items()},
    )
    dump(folder / "crds.json", {f"{name} {path}": row for name, crd in crds.items() for path, row in paths(crd, "")})


if __name__ == "__main__":
    main()
