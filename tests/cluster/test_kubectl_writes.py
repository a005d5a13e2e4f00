"""Writing with the real kubectl: apply, edit, patch, scale, delete with every cascade, and what is refused by name."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)

TIME = "2026-01-31T00:00:00Z"
JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  suspend: true
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 1, args: [one]}
"""
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: NAME}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template: {spec: {replicatedJobs: [{name: node, template: {
    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
    spec: {template: {spec: {containers: [{name: node, image: "example.test/train:1"}]}}}}}]}}
"""
OME = """
apiVersion: ome.io/v1beta1
kind: TrainJob
metadata: {name: ome-job}
spec:
  suspend: true
  runtimeRef: {name: torch-distributed}
"""
TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {set: two}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {set: two}}
data: {a: "1"}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: worker}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec:
  group: example.test
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("writes")) as run:
        yield run


def test_apply_and_prune_a_set(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", given=TWO).stdout == "configmap/first created\nconfigmap/second created\n"
    one = TWO.partition("---")[0]
    pruned = kubectl("apply --prune -l set=two --prune-allowlist=core/v1/ConfigMap -f -", given=one).stdout
    assert "configmap/second pruned" in pruned
    assert kubectl("get cm -l set=two -o name").stdout == "configmap/first\n"
    assert "configmap/first unchanged (server dry run)" in kubectl("apply --dry-run=server -f -", given=one).stdout
    assert kubectl("replace -f -", given=one.replace('"1"', '"3"')).stdout == "configmap/first replaced\n"
    assert kubectl("get cm first -o jsonpath={.data.a}").stdout == "3"


def test_apply_of_custom_resources_and_of_dialects(kubectl: Kubectl) -> None:
    runtime = RUNTIME.replace("NAME", "applied")
    kubectl("apply -f -", given=runtime)
    assert "configured" in kubectl("apply -f -", given=runtime.replace("numNodes: 1", "numNodes: 2")).stdout
    assert kubectl("get tr applied -o jsonpath={.spec.mlPolicy.numNodes}").stdout == "2"
    assert "configured (server dry run)" in kubectl("apply --dry-run=server -f -", given=runtime).stdout
    kubectl("apply --server-side --field-manager=me --force-conflicts -f -", given=runtime)
    assert kubectl("get tr applied -o jsonpath={.spec.mlPolicy.numNodes}").stdout == "1"
    kubectl("apply -f -", given=JOB.replace("NAME", "applied"))
    fixed = kubectl("apply -f -", given=JOB.replace("NAME", "applied").replace("[one]", "[two]"), code=1).stderr
    assert "spec.trainer: Invalid value: only numNodes can change after creation" in fixed
    assert "trainjob.ome.io/ome-job created" in kubectl("apply -f -", given=OME).stdout
    assert kubectl("get tj ome-job -o name").stdout == "trainjob.trainer.kubeflow.org/ome-job\n"
    assert "unchanged" in kubectl("apply -f -", given=OME).stdout
    kubectl("delete trainjobs.ome.io ome-job")


def test_diff_shows_what_would_change_and_changes_nothing(kubectl: Kubectl) -> None:
    runtime = RUNTIME.replace("NAME", "differs")
    kubectl("apply -f -", given=runtime)
    assert kubectl("diff -f -", given=runtime).stdout == ""
    for words in ("diff -f -", "diff --server-side --force-conflicts -f -"):
        shown = kubectl(words, given=runtime.replace("numNodes: 1", "numNodes: 4"), code=1).stdout
        assert "-    numNodes: 1" in shown
        assert "+    numNodes: 4" in shown
    assert kubectl("get tr differs -o jsonpath={.spec.mlPolicy.numNodes}").stdout == "1"


def test_edit_by_a_script(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create cm edited --from-literal=a=before")
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i s/before/after/ "$1"\n')
    script.chmod(0o755)
    assert kubectl("edit cm edited", KUBE_EDITOR=str(script)).stdout == "configmap/edited edited\n"
    assert kubectl("get cm edited -o jsonpath={.data.a}").stdout == "after"
    assert kubectl("edit cm edited", KUBE_EDITOR="true").stderr == "Edit cancelled, no changes made.\n"
    kubectl("apply -f -", given=JOB.replace("NAME", "edited"))
    script.write_text(f'#!/bin/sh\nsed -i "s/numNodes: 1/numNodes: 0/" "$1"\ncp "$1" {tmp_path}/seen\n')
    refused = kubectl("edit tj edited", KUBE_EDITOR=str(script), code=1).stderr
    assert 'trainjobs.trainer.kubeflow.org "edited" is invalid' in refused
    # kubectl opens the editor again, with what the server said at the top.
    assert "spec.trainer.numNodes" in (tmp_path / "seen").read_text().partition("apiVersion")[0]


def test_patches_of_each_type(kubectl: Kubectl) -> None:
    kubectl("apply -f -", given=RUNTIME.replace("NAME", "patched"))
    told = kubectl("patch tr patched --type=merge -p", '{"spec":{"mlPolicy":{"numNodes":2}}}').stdout
    assert told == "trainingruntime.trainer.kubeflow.org/patched patched\n"
    kubectl("patch tr patched --type=json -p", '[{"op":"replace","path":"/spec/mlPolicy/numNodes","value":3}]')
    assert kubectl("get tr patched -o jsonpath={.spec.mlPolicy.numNodes}").stdout == "3"
    same = kubectl("patch tr patched --type=merge -p", '{"spec":{"mlPolicy":{"numNodes":3}}}').stdout
    assert same == "trainingruntime.trainer.kubeflow.org/patched patched (no change)\n"
    wrong = kubectl("patch tr patched --type=json -p", '[{"op":"remove","path":"/spec/none"}]', code=1).stderr
    assert "the server rejected our request due to an error in our request" in wrong
    kubectl("create job waiting --image=example.test/c:1")
    kubectl("patch job waiting --type=strategic -p", '{"spec":{"suspend":true}}')
    assert "condition met" in kubectl("wait --for=condition=Suspended job/waiting --timeout=60s").stdout
    kubectl("apply -f -", given=JOB.replace("NAME", "patched"))
    condition = {"type": "Mine", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": TIME}
    status = json.dumps({"status": {"conditions": [condition]}})
    assert "patched" in kubectl("patch tj patched --subresource=status --type=merge -p", status).stdout


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    kubectl("apply -f -", given=JOB.replace("NAME", "labelled"))
    assert kubectl("label tj labelled team=a").stdout == "trainjob.trainer.kubeflow.org/labelled labeled\n"
    refused = kubectl("label tj labelled team=b", code=1).stderr
    assert "'team' already has a value (a), and --overwrite is false" in refused
    kubectl("label tj labelled team=b --overwrite")
    assert kubectl("get tj -l team=b -o name").stdout == "trainjob.trainer.kubeflow.org/labelled\n"
    kubectl("label tj labelled team-")
    assert kubectl("get tj -l team").stderr == "No resources found in default namespace.\n"
    assert "annotated" in kubectl("annotate tj labelled note=hello").stdout
    assert "hello" in kubectl("annotate tj labelled --list").stdout
    wrong = kubectl("label tj labelled", "bad key=x", code=1).stderr
    assert "bad key" in wrong


def test_scale(kubectl: Kubectl) -> None:
    elastic = JOB.replace("NAME", "scaled").replace("torch-distributed", "torch-elastic").replace("numNodes: 1, ", "")
    kubectl("apply -f -", given=elastic)
    assert kubectl("scale tj scaled --replicas=3").stdout == "trainjob.trainer.kubeflow.org/scaled scaled\n"
    assert kubectl("get tj scaled --subresource=scale -o jsonpath={.spec.replicas}").stdout == "3"
    kubectl("apply -f -", given=JOB.replace("NAME", "fixed"))
    fixed = kubectl("scale tj fixed --replicas=2", code=1).stderr
    assert "only jobs whose runtime has torch.elasticPolicy bounds can be resized" in fixed
    assert "Expected replicas to be 7" in kubectl("scale tj scaled --current-replicas=7 --replicas=1", code=1).stderr
    assert "autoscaled" in kubectl("autoscale tj scaled --min=1 --max=3").stdout


@pytest.mark.parametrize(
    ("cascade", "child"), [("background", ""), ("foreground", ""), ("orphan", "configmap/CHILD\n")]
)
def test_deleting_with_each_cascade(kubectl: Kubectl, cascade: str, child: str) -> None:
    kubectl(f"create cm owner-{cascade}")
    uid = kubectl(f"get cm owner-{cascade} -o jsonpath={{.metadata.uid}}").stdout
    owner = f"{{apiVersion: v1, kind: ConfigMap, name: owner-{cascade}, uid: {uid}, blockOwnerDeletion: true}}"
    name = f"child-{cascade}"
    kubectl(
        "apply -f -",
        given=f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, ownerReferences: [{owner}]}}}}",
    )
    told = kubectl(f"delete cm owner-{cascade} --cascade={cascade} --timeout=60s").stdout
    assert told.startswith(f'configmap "owner-{cascade}" deleted')
    if not child:
        kubectl(f"wait --for=delete cm/{name} --timeout=60s")
    assert kubectl(f"get cm {name} --ignore-not-found -o name").stdout == child.replace("CHILD", name)


def test_deleting_many_and_waiting(kubectl: Kubectl) -> None:
    for name in ("one", "two", "three"):
        kubectl(f"create cm many-{name}")
    kubectl("label cm many-one many-two many-three many=yes")
    assert kubectl("delete cm -l many=yes --dry-run=server").stdout.count("(server dry run)") == 3
    assert kubectl("delete cm -l many=yes").stdout.count("deleted") == 3
    assert kubectl("delete cm many-one --ignore-not-found").stdout == ""
    assert 'configmaps "many-one" not found' in kubectl("delete cm many-one", code=1).stderr
    kubectl("create ns leaving")
    kubectl("create cm inside -n leaving")
    assert 'namespace "leaving" deleted' in kubectl("delete ns leaving --timeout=60s").stdout
    kubectl("create cm staying")
    late = kubectl("wait --for=delete cm/staying --timeout=1s", code=1).stderr
    assert "timed out waiting for the condition on configmaps/staying" in late


@pytest.mark.parametrize(
    "words",
    [
        "namespace dry",
        "configmap dry --from-literal=a=1",
        "secret generic dry --from-literal=a=1",
        "serviceaccount dry",
        "job dry --image=example.test/c:1 -- run",
        "role dry --verb=get --resource=pods",
        "rolebinding dry --clusterrole=view --user=ann",
        "clusterrole dry --verb=get --resource=trainjobs.trainer.kubeflow.org",
        "clusterrolebinding dry --clusterrole=view --group=team",
        "quota dry --hard=pods=1",
        "priorityclass dry --value=1",
        "service clusterip dry --tcp=80",
    ],
)
def test_a_dry_run_on_the_server_makes_nothing(kubectl: Kubectl, words: str) -> None:
    assert "created (server dry run)" in kubectl(f"create --dry-run=server {words}").stdout
    assert kubectl(f"get {words.split()[0]} dry --ignore-not-found -o name").stdout == ""


def test_nodes_are_cordoned_drained_and_tainted(kubectl: Kubectl) -> None:
    kubectl("apply -f -", given=NODE)
    kubectl(
        "run on-it --image=example.test/c:1 --overrides",
        '{"spec":{"nodeName":"worker","terminationGracePeriodSeconds":0}}',
    )
    assert kubectl("cordon worker").stdout == "node/worker cordoned\n"
    assert "SchedulingDisabled" in kubectl("get node worker").stdout
    drained = kubectl("drain worker --force --timeout=60s").stdout
    assert "evicting pod default/on-it" in drained
    assert "node/worker drained" in drained
    assert kubectl("uncordon worker").stdout == "node/worker uncordoned\n"
    assert kubectl("taint node worker k=v:NoSchedule").stdout == "node/worker tainted\n"
    assert "k=v:NoSchedule" in kubectl("describe node worker").stdout
    kubectl("delete node worker")


def test_who_may_do_what(kubectl: Kubectl) -> None:
    kubectl("create rolebinding viewers --clusterrole=trainplane.dev:viewer --user=vera")
    assert kubectl("auth can-i list trainjobs --as=vera").stdout == "yes\n"
    refused = kubectl("delete tj any --as=vera", code=1).stderr
    assert 'User "vera" cannot delete resource "trainjobs" in API group "trainer.kubeflow.org"' in refused
    assert kubectl("auth can-i create trainjobs --as=nobody", code=1).stdout == "no\n"
    assert "vera" in kubectl("auth whoami --as=vera").stdout


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        ("rollout status deploy/x", "", 'the server doesn\'t have a resource type "deploy"'),
        ("rollout restart deployment/x", "", 'the server doesn\'t have a resource type "deployment"'),
        (
            "create deployment x --image=i",
            "",
            "deployments.apps are not served here: this cluster is for training; run",
        ),
        ("create cronjob x --image=i --schedule=@daily", "", "cronjobs.batch are not served here: start TrainJobs or"),
        ("cluster-info dump", "", "replicationcontrollers are not served here"),
        (
            "create ingress x --rule=a/b=c:80",
            "",
            "ingresses.networking.k8s.io are not served here: pods reach each other",
        ),
        (
            "create pdb x --min-available=1 --selector=a=b",
            "",
            "poddisruptionbudgets.policy are not served here: an eviction asks",
        ),
        ("apply -f -", DEFINITION, "this cluster serves a fixed set of kinds"),
        ("create -f -", JOB.replace("NAME", "Bad_Name"), "metadata.name: Invalid value"),
        ("create -f -", JOB.replace("NAME", "x").replace("numNodes: 1", "numNodes: many"), "numNodes"),
        ("create -f - --validate=strict", JOB.replace("NAME", "x").replace("args:", "arg:"), "unknown field"),
        ("create ns default", "", 'namespaces "default" already exists'),
        ("delete ns kube-system", "", "this namespace may not be deleted"),
        ("scale cm/kube-root-ca.crt --replicas=1", "", "could not find the requested resource"),
        ("create token nobody", "", 'serviceaccounts "nobody" not found'),
    ],
)
def test_what_is_refused(kubectl: Kubectl, words: str, given: str, said: str) -> None:
    done = kubectl(words, given=given, code=1)
    assert said in done.stdout + done.stderr


def test_unknown_fields_are_warned_of(kubectl: Kubectl) -> None:
    job = JOB.replace("NAME", "warned").replace("args:", "arg:")
    done = kubectl("create -f - --validate=warn", given=job)
    assert 'Warning: unknown field "spec.trainer.arg"' in done.stderr
    assert "created" in done.stdout
    assert kubectl("create -f - --validate=ignore", given=job.replace("warned", "unwarned")).stderr == ""
