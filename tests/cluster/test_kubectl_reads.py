"""Reading with the real kubectl: every form of output, descriptions, watches, explanations and events."""

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)

WORLD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, labels: {tier: one}}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dm, labels: {tier: two}}
---
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Node
metadata: {name: gpu-node-1}
spec: {unschedulable: true}
---
apiVersion: v1
kind: Service
metadata: {name: svc}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}}
spec:
  containers: [{name: c, image: "example.test/c:1", resources: {limits: {cpu: 1, nvidia.com/gpu: 2}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  suspend: true
  completions: 3
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.test/c:1"}]}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj}
spec:
  suspend: true
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, image: "example.test/train:1"}
---
apiVersion: ome.io/v1beta1
kind: TrainingRuntime
metadata: {name: ome-runtime}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
    containers: [{name: node, image: "example.test/train:1"}]}}}}}]}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 7
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tj}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {configmaps: 20}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, defaultRequest: {cpu: 10m}}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease}
spec: {holderIdentity: somebody}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: v1
kind: Event
metadata: {name: told}
involvedObject: {kind: TrainJob, name: tj, namespace: default, apiVersion: trainer.kubeflow.org/v1alpha1}
type: Warning
reason: Fretting
message: something may be wrong
firstTimestamp: "2026-01-31T00:00:00Z"
lastTimestamp: "2026-01-31T00:00:00Z"
count: 1
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("reads")) as run:
        run("apply -f -", given=WORLD)
        # Controllers say what they find in their own time.
        run("wait --for=jsonpath={.status.summary.state}=Suspended tj/tj --timeout=60s")
        run("wait --for=condition=Suspended job/job --timeout=60s")
        run("wait --for=jsonpath={.status.hard.configmaps}=20 quota/quota --timeout=60s")
        yield run


def test_whole_objects(kubectl: Kubectl) -> None:
    as_json = json.loads(kubectl("get cm cm -o json").stdout)
    assert (as_json["kind"], as_json["data"]) == ("ConfigMap", {"a": "1", "b": "2"})
    assert yaml.safe_load(kubectl("get cm cm -o yaml").stdout) == as_json
    assert yaml.safe_load(kubectl("get cm cm -o kyaml").stdout) == as_json
    listed = json.loads(kubectl("get cm -l tier -o json").stdout)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["cm", "dm"]
    assert listed["kind"] == "List"


@pytest.mark.parametrize(
    ("words", "form", "seen"),
    [
        ("get cm cm", "name", "configmap/cm\n"),
        ("get cm,tj -l tier!=two,tier", "name", "configmap/cm\n"),
        ("get cm cm", "jsonpath={.data.a}", "1"),
        ("get cm", "jsonpath-as-json={.items[?(@.metadata.labels.tier=='two')].metadata.name}", '[\n    "dm"\n]\n'),
        ("get cm cm", 'go-template={{.metadata.name}} {{index .data "b"}}', "cm 2"),
        ("get tj", "custom-columns=N:.metadata.name,RT:.spec.runtimeRef.name", "N     RT\ntj    torch-distributed\n"),
        ("get tj tj", "jsonpath={.status.summary.state}", "Suspended"),
    ],
)
def test_forms_of_output(kubectl: Kubectl, words: str, form: str, seen: str) -> None:
    assert kubectl(words, "-o", form).stdout == seen


@pytest.mark.parametrize(
    ("words", "header", "row"),
    [
        ("get tj", "NAME STATE RUNTIME NODES PROGRESS RESTARTS AGE", "tj Suspended torch-distributed 2"),
        ("get tj -o wide", "REASON MESSAGE", "tj Suspended"),
        ("get pods -o wide", "IP NODE NOMINATED NODE READINESS GATES", "p 0/1 Pending 0"),
        ("get pods -L app", "AGE APP", "p 0/1 Pending 0"),
        ("get cm --show-labels", "NAME DATA AGE LABELS", "dm 0"),
        ("get nodes", "NAME STATUS ROLES AGE VERSION", "gpu-node-1 Unknown,SchedulingDisabled <none>"),
        ("get jobs", "NAME STATUS COMPLETIONS DURATION AGE", "job Suspended 0/3"),
        ("get svc", "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE", "svc ClusterIP"),
        ("get pvc", "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS", "claim"),
        ("get hpa", "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE", "hpa TrainJob/tj"),
        ("get pc", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY", "urgent 7 false"),
        ("get quota", "NAME REQUEST LIMIT AGE", "quota configmaps:"),
        ("get leases", "NAME HOLDER AGE", "lease somebody"),
        ("get secrets", "NAME TYPE DATA AGE", "secret Opaque 1"),
        ("get roles", "NAME CREATED AT", "reader"),
        ("get rolebindings -o wide", "NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS", "readers Role/reader"),
        ("get ctr", "NAME FRAMEWORK NODES SUPPORT AGE", "torch-distributed torch 1"),
        ("get trainingruntimes -A", "NAMESPACE NAME FRAMEWORK NODES SUPPORT AGE", "default ome-runtime"),
        ("get trainingruntimes.ome.io", "NAME FRAMEWORK NODES SUPPORT AGE", "ome-runtime"),
        ("get events --field-selector=reason=Fretting", "LAST SEEN TYPE REASON OBJECT MESSAGE", "Warning Fretting"),
        ("get crd", "NAME CREATED AT", "trainjobs.trainer.kubeflow.org"),
    ],
)
def test_columns(kubectl: Kubectl, words: str, header: str, row: str) -> None:
    first, *rest = kubectl(words).stdout.splitlines()
    assert header in " ".join(first.split())
    assert any(row in " ".join(line.split()) for line in rest), rest


@pytest.mark.parametrize(
    ("thing", "seen"),
    [
        ("pod p", "nvidia.com/gpu:  2"),
        ("node gpu-node-1", "Unschedulable:      true"),
        ("tj tj", "Runtime Ref"),
        ("trainingruntime ome-runtime", "Ml Policy"),
        ("ctr torch-distributed", "Replicated Jobs"),
        ("job job", "Completions:      3"),
        ("svc svc", "Selector:                 app=web"),
        ("pvc claim", "Access Modes:"),
        ("cm cm", "a:\n----\n1"),
        ("secret secret", "password:  7 bytes"),
        ("quota quota", "configmaps"),
        ("limits limits", "Container"),
        ("ns default", "Resource Quotas"),
        ("sa default", "Image pull secrets:"),
        ("pc urgent", "Value:             7"),
        ("hpa hpa", "Reference:"),
        ("role reader", "pods       []                 []              [get]"),
        ("rolebinding readers", "User  ann"),
        ("clusterrole cluster-admin", "*.*"),
        ("lease lease", "Holder Identity:  somebody"),
        ("crd trainjobs.trainer.kubeflow.org", "Plural:     trainjobs"),
        ("event told", "something may be wrong"),
    ],
)
def test_descriptions(kubectl: Kubectl, thing: str, seen: str) -> None:
    told = kubectl(f"describe {thing}").stdout
    assert seen in told
    assert "hunter2" not in told


def test_a_watch_shows_what_happens(kubectl: Kubectl) -> None:
    with kubectl.going("get cm watched -w --output-watch-events --ignore-not-found") as watch:
        kubectl("create cm other-one")
        kubectl("get cm other-one")
        assert watch.poll() is None or watch.returncode == 0
    kubectl("create cm watched --from-literal=a=1")
    with kubectl.going("get cm watched -w --output-watch-events") as watch:
        assert watch.stdout
        assert watch.stdout.readline().split()[:2] == ["EVENT", "NAME"]
        assert watch.stdout.readline().split()[:3] == ["ADDED", "watched", "1"]
        kubectl("patch cm watched -p", '{"data":{"b":"2"}}')
        assert watch.stdout.readline().split()[:3] == ["MODIFIED", "watched", "2"]
        kubectl("delete cm watched")
        assert watch.stdout.readline().split()[:2] == ["DELETED", "watched"]


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ("explain trainjob.spec.trainer.numNodes", "FIELD: numNodes <integer>"),
        ("explain trainingruntimes.ome.io.spec.mlPolicy", "elasticPolicy"),
        ("explain trainjob --recursive", "numProcPerNode"),
        ("explain jobset.spec.failurePolicy", "maxRestarts"),
        ("explain trainjob -o plaintext-openapiv2", "KIND:     TrainJob"),
        ("api-resources --api-group=trainer.kubeflow.org -o wide", "tj "),
        ("api-resources --namespaced=false -o name", "clustertrainingruntimes.trainer.kubeflow.org"),
        ("api-resources --verbs=deletecollection -o name", "trainjobs.trainer.kubeflow.org"),
        ("events --for trainjob/tj", "Fretting"),
        ("events --types=Warning", "something may be wrong"),
        ("auth can-i get pods --as=ann", "yes"),
        ("auth can-i --list --as=ann", "pods"),
        ("get --raw /apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/tj", '"kind":"TrainJob"'),
        ("get --raw /livez?verbose", "livez check passed"),
        ("get pods --field-selector=spec.nodeName= -o name", "pod/p"),
        ("get pods p nope --ignore-not-found -o name", "pod/p"),
        ("get training -o name", "trainjob.trainer.kubeflow.org/tj"),
        ("get crd -l app.kubernetes.io/part-of=trainplane -o name", "jobsets.jobset.x-k8s.io"),
        ("wait --for=condition=established crd/jobsets.jobset.x-k8s.io --timeout=60s", "condition met"),
    ],
)
def test_questions(kubectl: Kubectl, words: str, seen: str) -> None:
    assert seen in kubectl.told(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("get deployments", 'the server doesn\'t have a resource type "deployments"'),
        ("get cm -l a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("get pods --field-selector=spec.image=x", "field label not supported: spec.image"),
        ("explain trainjob.spec.nodes", 'field "nodes" does not exist'),
        ("auth can-i delete pods --as=ann", "no"),
        (
            "get secrets --as=ann",
            'User "ann" cannot list resource "secrets" in API group "" in the namespace "default"',
        ),
        ("describe tj nope", 'trainjobs.trainer.kubeflow.org "nope" not found'),
    ],
)
def test_what_cannot_be_read(kubectl: Kubectl, words: str, said: str) -> None:
    assert said in kubectl.told(words, code=1)
