"""The CRDs: current, small, structural, and of one mind with a real API server."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.api.structural_rules import faults
from tests.api.verdicts import CASES, Case, fields_refused
from tests.places import need_real_kubeconfig
from tools.crds import FOLDER, render
from trainplane.api.crd import crd
from trainplane.api.kinds import CRD_KINDS, RECORD_KIND, Kind
from trainplane.api.meta import Law
from trainplane.api.schema import laws_of, openapi
from trainplane.api.structural import broken_laws, defaulted
from trainplane.api.trainer import TrainingRuntime, TrainJob
from trainplane.cli.crds import crds

BY_NAME = {kind.resource: kind for kind in CRD_KINDS}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FILES = render()
MUST_FIT = 256 * 1024
"""The limit of an object's annotations, of which kubectl apply needs one for the whole object."""


STATUS_WITHOUT_TIME: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "reported"},
    "spec": {"runtimeRef": {"name": "torch"}},
    "status": {"trainerStatus": {"progressPercentage": 40}},
}


def schema(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_committed_copy_is_current(path: Path) -> None:
    assert path.exists(), "run `make docs`"
    assert path.read_text(encoding="utf-8") == FILES[path], "run `make docs`"


def test_no_other_file_lies_beside_them() -> None:
    assert set(FOLDER.iterdir()) == set(FILES)


@pytest.mark.parametrize("name", BY_NAME)
def test_plain_kubectl_apply_has_room_for_it(name: str) -> None:
    assert len(json.dumps(crd(BY_NAME[name]))) < MUST_FIT


@pytest.mark.parametrize("name", BY_NAME)
def test_the_schema_is_structural(name: str) -> None:
    assert list(faults(schema(BY_NAME[name]))) == []


@pytest.mark.parametrize(
    "node",
    [
        {"properties": {}},
        {"type": "array"},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
        {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        {"type": "string", "default": 1},
        {"type": "string", "default": "c", "enum": ["a", "b"]},
        {"type": "string", "pattern": "^(?!a)"},
        {"type": "string", "x-kubernetes-patch-strategy": "merge"},
        {
            "type": "array",
            "x-kubernetes-list-type": "atomic",
            "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed"}]},
        },
    ],
    ids=lambda node: json.dumps(node)[:60],
)
def test_the_rules_of_structural_schemas_bite(node: dict[str, Any]) -> None:
    assert list(faults(node))


def undescribed(node: dict[str, Any], path: str, *, depth: int) -> Iterator[str]:
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}"
        if name in ("metadata", "apiVersion", "kind"):
            continue
        if not child.get("description"):
            yield here
        if depth:
            yield from undescribed(child.get("items", child), here, depth=depth - 1)


def test_kubectl_explain_has_words_for_every_field_of_ours() -> None:
    trainjob, runtime = (schema(BY_NAME[f"{name}.trainer.kubeflow.org"]) for name in ("trainjobs", "trainingruntimes"))
    spec = trainjob["properties"]["spec"]["properties"]
    policies = runtime["properties"]["spec"]["properties"]
    missing = [
        *undescribed(trainjob, "", depth=1),
        *undescribed(runtime, "", depth=1),
        *undescribed(spec["runtimeRef"], "runtimeRef", depth=0),
        *undescribed(spec["trainer"], "trainer", depth=0),
        *undescribed(spec["initializer"], "initializer", depth=1),
        *undescribed(policies["mlPolicy"], "mlPolicy", depth=2),
        *undescribed(policies["podGroupPolicy"], "podGroupPolicy", depth=3),
    ]
    # Of conditions and metrics, Kubernetes' own words are known well enough.
    assert [path for path in missing if "conditions." not in path and "metrics." not in path] == []


def test_names_do_not_clash() -> None:
    words = [(kind.group, word) for kind in CRD_KINDS for word in (kind.plural, kind.singular, *kind.short_names)]
    shorts = [word for kind in CRD_KINDS for word in kind.short_names]
    assert len(set(words)) == len(words)
    assert len(set(shorts)) == len(shorts), "kubectl would pick one of them"
    training = [kind for kind in CRD_KINDS if kind is not RECORD_KIND]
    assert all(kind.categories == ("training",) for kind in training)
    assert not RECORD_KIND.categories, "`kubectl get training` shows what there is, not what there was"


def test_all_are_printed_for_kubectl_apply() -> None:
    printed = CliRunner().invoke(crds, [])
    assert [document["metadata"]["name"] for document in yaml.load_all(printed.output, Loader=LOADER)] == list(BY_NAME)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("trainjobs.trainer.kubeflow.org", ["trainjobs.trainer.kubeflow.org"]),
        ("tj", ["trainjobs.trainer.kubeflow.org"]),
        ("TrainingRuntime", [name for name in BY_NAME if name.startswith("trainingruntimes.")]),
    ],
)
def test_some_are_printed_by_name(word: str, names: list[str]) -> None:
    printed = CliRunner().invoke(crds, [word, "-o", "json"])
    document = json.loads(printed.output)
    assert [item["metadata"]["name"] for item in document.get("items", [document])] == names


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    printed = CliRunner().invoke(crds, ["trainjob.trainer.kubeflow.org"])
    assert printed.exit_code == 2
    assert "trainjobs.trainer.kubeflow.org" in printed.output


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.title}")
def test_our_verdict(case: Case) -> None:
    refused = fields_refused(case.document(case.spec), case.document(case.before) if case.before else None)
    assert bool(refused) == bool(case.refused), refused
    assert all(case.refused.startswith(field) for field in refused)


def laws(node: dict[str, Any]) -> Iterator[Law]:
    """Every law below a node of a schema."""
    yield from laws_of(node)
    for child in (*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")):
        if child:
            yield from laws(child)


def test_every_law_is_broken_by_one_of_the_documents() -> None:
    broken = {law for path, law in broken_laws(TrainJob, STATUS_WITHOUT_TIME)}
    for case in CASES:
        type_ = TrainJob if case.kind == "TrainJob" else TrainingRuntime
        before = defaulted(type_, case.document(case.before)) if case.before else None
        broken |= {law for path, law in broken_laws(type_, defaulted(type_, case.document(case.spec)), before)}
    assert {*laws(openapi(TrainJob)), *laws(openapi(TrainingRuntime))} == broken


def test_a_report_of_the_trainer_says_when_it_was_made() -> None:
    assert fields_refused(STATUS_WITHOUT_TIME) == ["status.trainerStatus"]
    report = {**STATUS_WITHOUT_TIME["status"]["trainerStatus"], "lastUpdatedTime": "2026-01-31T12:00:00Z"}
    assert fields_refused({**STATUS_WITHOUT_TIME, "status": {"trainerStatus": report}}) == []


class Server:
    """A real API server, asked through kubectl."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = f"trainplane-crds-{os.getpid()}"

    def ask(self, *args: str, document: Any = None) -> tuple[bool, str]:
        """Whether kubectl was content, and what it said."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *args]
        text = json.dumps(document) if document else ""
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode == 0, done.stdout + done.stderr

    def put(self, verb: str, document: dict[str, Any], *, dry: bool) -> tuple[bool, str]:
        """Send a document as it is; nothing is stored by a dry run."""
        flags = ["--validate=strict", "-n", self.namespace, "-f", "-", *(["--dry-run=server"] if dry else [])]
        return self.ask(verb, *flags, document=document)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A real API server that has our CRDs."""
    found = Server(need_real_kubeconfig())
    done, said = found.ask("apply", "-f", str(FOLDER))
    assert done, said
    names = [f"crd/{name}" for name in BY_NAME]
    done, said = found.ask("wait", "--for=condition=Established", "--timeout=60s", *names)
    assert done, said
    found.ask("create", "namespace", found.namespace)
    yield found
    found.ask("delete", "namespace", found.namespace, "--wait=false")


def test_a_real_server_calls_the_schemas_structural(server: Server) -> None:
    done, said = server.ask("get", "crd", *BY_NAME, "-o", "json")
    assert done, said
    for item in json.loads(said)["items"]:
        conditions = {condition["type"]: condition["status"] for condition in item["status"]["conditions"]}
        assert conditions.get("Established") == "True"
        assert "NonStructuralSchema" not in conditions, item["metadata"]["name"]


def test_applying_again_changes_nothing(server: Server) -> None:
    done, said = server.ask("apply", "-f", str(FOLDER))
    assert done, said
    assert said.count(" unchanged") == len(CRD_KINDS), said


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.title}")
def test_a_real_server_gives_the_same_verdict(server: Server, case: Case) -> None:
    if case.before:
        done, said = server.put("create", case.document(case.before), dry=False)
        assert done, said
        try:
            taken, said = server.put("replace", case.document(case.spec), dry=True)
        finally:
            resource = f"{case.kind.lower()}s.trainer.kubeflow.org"
            server.ask("delete", resource, case.name, "-n", server.namespace)
    else:
        taken, said = server.put("create", case.document(case.spec), dry=True)
    assert taken == (not case.refused), said
    # A law of the whole object, such as one of its name, is reported without a field.
    assert case.refused in said or case.refused == "metadata.name", said


def test_a_real_server_serves_scale_and_columns(server: Server) -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "scaled"},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}},
    }
    assert server.put("create", job, dry=False)[0]
    status = {
        "status": {"nodes": 2, "selector": "a=b", "summary": {"state": "Running", "reason": "Training", "nodes": 4}}
    }
    where = ["-n", server.namespace, "tj", "scaled"]
    done, said = server.ask("patch", *where, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    assert done, said
    done, said = server.ask("scale", *where, "--replicas=4")
    assert done, said
    done, said = server.ask("get", *where, "--subresource=scale", "-o", "json")
    scale = json.loads(said)
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}
    done, said = server.ask("get", *where)
    assert said.splitlines()[0].split() == ["NAME", "STATE", "RUNTIME", "NODES", "PROGRESS", "RESTARTS", "AGE"]
    assert said.splitlines()[1].split()[:4] == ["scaled", "Running", "torch", "4"]


def test_a_real_server_wants_the_time_of_a_report(server: Server) -> None:
    done, said = server.put("create", STATUS_WITHOUT_TIME, dry=False)
    assert done, said
    where = ["-n", server.namespace, "tj", "reported", "--subresource=status", "--type=merge", "-p"]
    done, said = server.ask("patch", *where, json.dumps({"status": STATUS_WITHOUT_TIME["status"]}))
    assert not done
    assert "status.trainerStatus" in said
    report = {"lastUpdatedTime": "2026-01-31T12:00:00Z", "progressPercentage": 40}
    done, said = server.ask("patch", *where, json.dumps({"status": {"trainerStatus": report}}))
    assert done, said


def test_a_real_server_shows_runtimes_of_all_groups_at_once(server: Server) -> None:
    for kind in CRD_KINDS:
        if kind.kind == "TrainingRuntime":
            name = kind.group.replace(".", "-")
            labels = {"trainer.kubeflow.org/framework": "torch", "trainer.kubeflow.org/support": "deprecated"}
            document = {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": name, "labels": labels},
                "spec": {"mlPolicy": {"numNodes": 3}},
            }
            done, said = server.put("create", document, dry=False)
            assert done, said
    done, said = server.ask("get", "training", "-n", server.namespace)
    assert done, said
    for name in ("trainer-kubeflow-org", "ome-io", "kubeflow-org"):
        (line,) = (line for line in said.splitlines() if f"/{name} " in line)
        assert line.split()[1:4] == ["torch", "3", "deprecated"]
