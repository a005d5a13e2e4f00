"""The real kubectl against an embedded cluster: what people type, and what they see."""

from collections.abc import Iterator

import pytest

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)

RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: plain
spec:
  mlPolicy:
    numNodes: 1
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: example.test/train:1
"""
JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: tj
spec:
  suspend: true
  runtimeRef:
    name: plain
    kind: TrainingRuntime
"""
MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: cm
data:
  a: "1"
  b: "2"
"""
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels:
    app: wire
spec:
  containers:
  - name: c
    image: example.test/c:1
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("kubectl")) as run:
        run("apply -f -", given=RUNTIME)
        run("apply -f -", given=POD)
        run("run gone --image=example.test/c:1")
        run("create quota kept --hard=pods=50")
        yield run


def test_apply_again_and_again(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", given=MAP).stdout == "configmap/cm created\n"
    assert kubectl("apply -f -", given=MAP).stdout == "configmap/cm unchanged\n"
    changed = MAP.replace('b: "2"', 'c: "3"')
    assert kubectl("apply -f -", given=changed).stdout == "configmap/cm configured\n"
    assert kubectl("get cm cm -o jsonpath={.data}").stdout == '{"a":"1","c":"3"}'
    assert "+  c" in kubectl("diff -f -", given=changed.replace('c: "3"', 'c: "3"\n  cc: "4"'), code=1).stdout
    assert kubectl("delete cm cm").stdout.startswith('configmap "cm" deleted')


def test_server_side_apply_and_its_conflicts(kubectl: Kubectl) -> None:
    other = MAP.replace("name: cm", "name: ssa")
    kubectl("apply --server-side -f -", given=other)
    taken = kubectl("apply --server-side --field-manager=other -f -", given=other.replace('"1"', '"9"'), code=1)
    assert 'conflict with "kubectl": .data.a' in taken.stderr
    kubectl("apply --server-side --field-manager=other --force-conflicts -f -", given=other.replace('"1"', '"9"'))
    assert kubectl("get cm ssa -o jsonpath={.data.a}").stdout == "9"
    assert "manager: other" in kubectl("get cm ssa -o yaml --show-managed-fields").stdout


def test_train_jobs(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", given=JOB).stdout == "trainjob.trainer.kubeflow.org/tj created\n"
    assert "tj" in kubectl("get trainjobs").stdout
    assert kubectl("get tj -o name").stdout == "trainjob.trainer.kubeflow.org/tj\n"
    assert "Runtime Ref" in kubectl("describe trainjob tj").stdout
    wrong = kubectl("create -f -", given=JOB.replace("name: tj", "name: t2").replace("suspend", "suspnd"), code=1)
    assert 'unknown field "spec.suspnd"' in wrong.stderr
    missing = kubectl("create -f -", given=JOB.replace("name: plain", "name: none").replace("tj", "t3"), code=1)
    assert "spec.runtimeRef" in missing.stderr
    strategic = kubectl("patch tj tj -p", '{"spec":{"suspend":true}}', code=1)
    assert "UnsupportedMediaType" in strategic.stderr or "unknown format" in strategic.stderr
    kubectl("patch tj tj --type=merge -p", '{"metadata":{"labels":{"a":"b"}}}')
    kubectl("delete tj tj")


def test_pods_are_shown_labelled_and_patched(kubectl: Kubectl) -> None:
    assert kubectl("get pods p --no-headers").stdout.split()[:3] == ["p", "0/1", "Pending"]
    assert "example.test/c:1" in kubectl("describe pod p").stdout
    kubectl("label pod p tier=one")
    kubectl("annotate pod p note=two")
    assert kubectl("get pods -l tier=one -o name").stdout == "pod/p\n"
    assert kubectl("get pods --field-selector=status.phase=Running -o name").stdout == ""
    kubectl("set image pod/p c=example.test/c:2")
    assert kubectl("get pod p -o jsonpath={.spec.containers[*].image}").stdout == "example.test/c:2"
    kubectl("patch pod p --type=json -p", '[{"op":"add","path":"/metadata/labels/z","value":"1"}]')
    kubectl("patch pod p --type=strategic -p", '{"metadata":{"labels":{"z":null}}}')
    refused = kubectl("patch pod p -p", '{"spec":{"nodeName":"x"}}', code=1)
    assert "pod updates may not change fields" in refused.stderr


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ("version", "Server Version: v1.36"),
        ("api-resources", "trainjobs"),
        ("api-versions", "trainer.kubeflow.org/v1alpha1"),
        ("explain trainjob.spec", "runtimeRef"),
        ("explain pod.spec.containers.image", "FIELD: image <string>"),
        ("get ns", "kube-system"),
        ("get ns default -o yaml", "kubernetes.io/metadata.name: default"),
        ("get --raw /readyz", "ok"),
        ("auth can-i create trainjobs", "yes"),
        ("auth whoami", "trainplane-admin"),
        ("cluster-info", "Kubernetes control plane"),
        ("get crd trainjobs.trainer.kubeflow.org -o name", "trainjobs.trainer.kubeflow.org"),
        ("get clusterroles", "trainplane.dev:viewer"),
        ("create namespace made", "namespace/made created"),
        ("create configmap made --from-literal=k=v", "configmap/made created"),
        ("create secret generic made --from-literal=k=v", "secret/made created"),
        ("create serviceaccount made", "serviceaccount/made created"),
        ("create token default", "ey"),
        ("create quota made --hard=pods=50", "resourcequota/made created"),
        ("create role made --verb=get --resource=pods", "role.rbac.authorization.k8s.io/made created"),
        ("create job made --image=example.test/c:1", "job.batch/made created"),
        ("create priorityclass made --value=5", "priorityclass.scheduling.k8s.io/made created"),
        ("run made --image=example.test/c:1", "pod/made created"),
        ("get all", "pod/p"),
        ("events -n kube-public", "No events found"),
        ("wait --for=jsonpath={.status.phase}=Active ns/default --timeout=60s", "condition met"),
        ("get pods -o custom-columns=N:.metadata.name,P:.status.phase", "Pending"),
        ("get pods --sort-by=.metadata.name", "NAME"),
        ("get cm --chunk-size=1", "kube-root-ca.crt"),
        ("delete pod gone --force --grace-period=0", "deleted"),
        ("delete quota kept --dry-run=server", "(server dry run)"),
    ],
)
def test_what_people_type(kubectl: Kubectl, words: str, seen: str) -> None:
    done = kubectl(words)
    assert seen in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("get trainjob nope", 'trainjobs.trainer.kubeflow.org "nope" not found'),
        ("get nosuch", 'the server doesn\'t have a resource type "nosuch"'),
        ("get pods -n none nope", 'namespaces "none" not found'),
        ("get trainjobs --field-selector=spec.x=1", "field label not supported: spec.x"),
        ("create namespace default", 'namespaces "default" already exists'),
        ("delete namespace default", "this namespace may not be deleted"),
        ("auth can-i create trainjobs --as=nobody", ""),
    ],
)
def test_what_is_refused(kubectl: Kubectl, words: str, said: str) -> None:
    assert said in kubectl(words, code=1).stderr
