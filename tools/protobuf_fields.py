"""Write the numbers of protobuf fields that the embedded API reads, from the published definitions of Kubernetes.

    python -m tools.protobuf_fields API APIMACHINERY > src/trainplane/cluster/protobuf_fields.json

API and APIMACHINERY are the folders of the Go modules k8s.io/api and k8s.io/apimachinery. Numbers, names and types are
from their generated.proto; whether a zero means something is from the pointers and `omitempty` in their types.go.
"""

import json
import re
import sys
from pathlib import Path

PACKAGES = {
    "core": "core/v1",
    "batch": "batch/v1",
    "rbac": "rbac/v1",
    "scheduling": "scheduling/v1",
    "coordination": "coordination/v1",
    "discovery": "discovery/v1",
    "events": "events/v1",
    "node": "node/v1",
    "autoscaling": "autoscaling/v2",
    "scale": "autoscaling/v1",
    "authorization": "authorization/v1",
    "authentication": "authentication/v1",
    "policy": "policy/v1",
}
META = "pkg/apis/meta/v1"
ROOTS = (
    "meta.DeleteOptions",
    *(
        f"core.{kind}"
        for kind in ("Pod", "Service", "Node", "Namespace", "Endpoints", "Event", "PersistentVolumeClaim")
    ),
    *(f"core.{kind}" for kind in ("ResourceQuota", "ConfigMap", "Secret", "ServiceAccount", "LimitRange", "Binding")),
    "batch.Job",
    *(f"rbac.{kind}" for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")),
    "scheduling.PriorityClass",
    "coordination.Lease",
    "discovery.EndpointSlice",
    "events.Event",
    "node.RuntimeClass",
    "autoscaling.HorizontalPodAutoscaler",
    "scale.Scale",
    *(f"authorization.{who}SubjectAccessReview" for who in ("", "Self", "Local")),
    "authorization.SelfSubjectRulesReview",
    *(f"authentication.{kind}" for kind in ("SelfSubjectReview", "TokenReview", "TokenRequest")),
    "policy.Eviction",
)

_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (optional |repeated |required )?(map<string, ?([\w.]+)>|[\w.]+) (\w+) = (\d+);", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_GO_FIELD = re.compile(r'^\s*(?:\w+\s+)?([\w.*\[\]]+)\s+`json:"([^"]*)"[^`]*?\bprotobuf:"\w+,(\d+),', re.MULTILINE)


def messages(name: str, folder: Path) -> dict[str, str]:
    """The messages of one package: `number name type marks`, by semicolons.

    A type is followed by `*` when it is repeated and by `{}` when it is a map's value. The marks are `z`: a zero means
    something; `i`: its fields stand in the object itself.
    """
    proto = (folder / "generated.proto").read_text(encoding="utf-8")
    go = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*types*.go")))
    tags: dict[str, dict[str, tuple[str, str]]] = {
        struct: {number: (type_, tag) for type_, tag, number in _GO_FIELD.findall(body)}
        for struct, body in _STRUCT.findall(go)
    }
    found = {}
    for message, body in _MESSAGE.findall(proto):
        fields = []
        for label, type_, value, field, number in _FIELD.findall(body):
            go_type, tag = tags.get(message, {}).get(number, ("", ""))
            kind = qualified(value or type_, name) + ("{}" if value else "*" if label == "repeated " else "")
            inline = ",inline" in tag and "." not in go_type
            marks = "i" if inline else "z" if go_type.startswith("*") or "omitempty" not in tag else ""
            fields.append(" ".join(filter(None, (number, field, kind, marks))))
        found[f"{name}.{message}"] = ";".join(fields)
    return found


def qualified(type_: str, package: str) -> str:
    """A type as `package.Message`, or a scalar's name."""
    if type_ in ("string", "bytes", "bool", "int32", "int64"):
        return type_
    *path, message = type_.split(".")
    if not path:
        return f"{package}.{message}"
    short = {"resource": "quantity", "intstr": "intstr", "runtime": "runtime"}.get(path[-1])
    if short:
        return f"{short}.{message}"
    if path[-3:-1] == ["apis", "meta"]:
        return f"meta.{message}"
    return next(f"{name}.{message}" for name, folder in PACKAGES.items() if folder == "/".join(path[-2:]))


def main() -> None:
    """Print the fields of every message that the roots hold."""
    api, machinery = map(Path, sys.argv[1:3])
    known = messages("meta", machinery / META)
    for name, folder in PACKAGES.items():
        known |= messages(name, api / folder)
    kept: dict[str, str] = {}
    waiting = list(ROOTS)
    while waiting:
        message = waiting.pop()
        if message in kept or message not in known:
            continue
        kept[message] = known[message]
        waiting += re.findall(r"\w+\.\w+", known[message])
    print(json.dumps(dict(sorted(kept.items())), indent=0))


if __name__ == "__main__":
    main()
