"""TrainJob and its runtimes: every field of Kubeflow Trainer 2.3 and more, and nothing lost on the way."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import UNSET

from tests.api.verdicts import fields_refused
from tests.places import need_shared
from tools.record_trainer_facts import paths
from trainplane.api.crd import crd
from trainplane.api.kinds import by_plural, kind_of
from trainplane.api.meta import read, write
from trainplane.api.policies import JAX, MPI, Flux, MLPolicy, Torch, XGBoost
from trainplane.api.trainer import API_VERSION, ClusterTrainingRuntime, TrainingRuntime, TrainJob

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "trainer.json").read_text(encoding="utf-8"))

BELOW_ONE = "numNodes and numProcPerNode below 1 are refused"
DIFFERENT = {
    "trainjobs": {
        "": ({"required": ["spec"]}, "a TrainJob without a spec has no runtime; upstream refuses it by webhook"),
        "spec.managedBy": (
            {"enum": ["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"]},
            "upstream says it in CEL, where kubectl explain cannot show it",
        ),
        "spec.runtimeRef.apiGroup": ({"minLength": 1}, "an empty group is refused; upstream does so by webhook"),
        "spec.trainer.numNodes": ({"minimum": 1}, BELOW_ONE),
        "spec.trainer.numProcPerNode": ({"minimum": 1}, BELOW_ONE),
    },
    "trainingruntimes": {
        "spec.mlPolicy.flux.numProcPerNode": ({"minimum": 1}, "upstream says it in CEL"),
        "spec.mlPolicy.mpi.mpiImplementation": (
            {"enum": ["OpenMPI", "Intel", "MPICH"]},
            "all three are run; an empty one, which upstream takes and can never run, is refused",
        ),
        "spec.mlPolicy.mpi.numProcPerNode": ({"minimum": 1}, BELOW_ONE),
        "spec.mlPolicy.numNodes": ({"minimum": 1}, BELOW_ONE),
    },
}
"""Where our schema binds otherwise than upstream's: the words that differ, and why."""

REFUSED_HERE_ALONE = {
    "017-torch-nproc-negative": BELOW_ONE,
    "022-torch-nodes-zero": BELOW_ONE,
    "024-torch-runtime-nodes-zero": BELOW_ONE,
    "025-torch-runtime-nodes-negative": BELOW_ONE,
    "080-mpi-nproc-zero": BELOW_ONE,
    "085-mpi-impl-empty": "an empty mpiImplementation can never run",
}
"""Recorded documents that upstream's schema takes and ours does not, and why."""


@pytest.mark.parametrize("plural", DIFFERENT)
def test_every_field_of_upstream_binds_as_upstream_does_or_says_why_not(plural: str) -> None:
    kind = by_plural("trainer.kubeflow.org", plural)
    assert kind is not None
    ours = dict(paths(crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
    name = f"{kind.resource} "
    theirs = {key.removeprefix(name): words for key, words in FACTS.items() if key.startswith(name)}
    for path, (words, _) in DIFFERENT[plural].items():
        assert theirs[path] != {**theirs[path], **words}, f"{path} is no longer different"
        theirs[path] = {**theirs[path], **words}
    assert {path: ours.get(path) for path in theirs} == theirs


@pytest.mark.parametrize(
    ("policy", "framework"),
    [
        ({}, type(None)),
        ({"torch": {}}, Torch),
        ({"mpi": {}}, MPI),
        ({"jax": {}}, JAX),
        ({"xgboost": {}}, XGBoost),
        ({"flux": {}}, Flux),
    ],
)
def test_the_framework_is_the_policy_that_is_there(policy: dict[str, Any], framework: type) -> None:
    assert isinstance(read(policy, MLPolicy).framework, framework)


def test_absent_is_not_zero() -> None:
    job = read({"spec": {"runtimeRef": {"name": "a"}, "trainer": {"numNodes": 0}, "suspend": False}}, TrainJob)
    assert job.spec.trainer is not UNSET
    assert job.spec.trainer.num_nodes == 0
    assert job.spec.trainer.num_proc_per_node is UNSET
    assert write(job)["spec"] == {"runtimeRef": {"name": "a"}, "trainer": {"numNodes": 0}, "suspend": False}


@pytest.mark.parametrize("type_", [TrainingRuntime, ClusterTrainingRuntime])
def test_an_object_is_written_with_its_kind(type_: type[TrainingRuntime | ClusterTrainingRuntime]) -> None:
    written = write(type_())
    assert (written["apiVersion"], written["kind"]) == (API_VERSION, type_.__name__)
    assert kind_of(API_VERSION, type_.__name__) is by_plural("trainer.kubeflow.org", f"{type_.__name__.lower()}s")


WHOLE_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: whole, namespace: ml, labels: {team: a}}
spec:
  runtimeRef: {name: torch, apiGroup: ome.io, kind: TrainingRuntime}
  initializer:
    dataset: {storageUri: hf://a/b, env: [{name: A, value: b}], secretRef: {name: token}}
    model: {storageUri: s3://a/b}
  trainer:
    image: registry.example/train:1
    command: [torchrun]
    args: [train.py]
    env: [{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]
    numNodes: 2
    numProcPerNode: 8
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}, requests: {memory: 64Gi}}
  runtimePatches:
  - manager: kueue.x-k8s.io/manager
    time: "2026-01-31T12:00:00Z"
    trainingRuntimeSpec:
      template:
        metadata: {labels: {a: b}}
        spec:
          replicatedJobs:
          - name: node
            template:
              metadata: {annotations: {c: d}}
              spec:
                template:
                  metadata: {labels: {e: f}}
                  spec:
                    serviceAccountName: trainer
                    nodeSelector: {zone: a}
                    affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
                      {matchExpressions: [{key: gpu, operator: Exists}]}]}}}
                    tolerations: [{key: gpu, operator: Exists}]
                    volumes: [{name: data, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]
                    initContainers: [{name: prepare, env: [{name: C, value: d}]}]
                    containers:
                    - name: node
                      volumeMounts: [{name: data, mountPath: /data}]
                      securityContext: {runAsUser: 1000}
                    schedulingGates: [{name: quota}]
                    imagePullSecrets: [{name: pull}]
                    securityContext: {fsGroup: 1000}
                    terminationGracePeriodSeconds: 30
  suspend: true
  activeDeadlineSeconds: 3600
  ttlSecondsAfterFinished: 600
  managedBy: trainer.kubeflow.org/trainjob-controller
status:
  conditions: [{type: Suspended, status: "True", reason: Suspended, message: It waits.,
    lastTransitionTime: "2026-01-31T12:00:00Z"}]
  jobsStatus: [{name: node, ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 1}]
  trainerStatus: {progressPercentage: 40, estimatedRemainingSeconds: 60, metrics: [{name: loss, value: "0.1"}],
    lastUpdatedTime: "2026-01-31T12:00:00Z"}
  summary: {state: Suspended, reason: Suspended, message: It waits., since: "2026-01-31T12:00:00Z",
    startTime: "2026-01-31T12:00:00Z", completionTime: "2026-01-31T12:00:00Z", restarts: 1}
  nodes: 2
  selector: a=b
"""
WHOLE_RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: whole, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy:
    numNodes: 2
    torch:
      numProcPerNode: gpu
      elasticPolicy:
        minNodes: 2
        maxNodes: 8
        maxRestarts: 3
        metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
      envInjection: {targets: [{jobName: node, containerNames: [sidecar]}]}
  podGroupPolicy:
    volcano: {minMember: 2, queue: q, priorityClassName: high, networkTopology: {mode: soft, highestTierAllowed: 2}}
  template:
    metadata: {annotations: {a: b}}
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: torch}]}}}}
"""


@pytest.mark.parametrize(("text", "type_"), [(WHOLE_JOB, TrainJob), (WHOLE_RUNTIME, ClusterTrainingRuntime)])
def test_no_field_is_lost(text: str, type_: type[TrainJob | ClusterTrainingRuntime]) -> None:
    raw = yaml.safe_load(text)
    assert fields_refused(raw) == []
    assert write(read(raw, type_)) == raw


def recorded() -> list[Path]:
    """The recorded cases, where they are at hand."""
    return sorted(path.parent for path in need_shared("conformance/cases").glob("*/input.yaml"))


def test_what_upstream_takes_is_taken_unless_we_say_why_not() -> None:
    refused = set()
    for case in recorded():
        text = (case / "input.yaml").read_text(encoding="utf-8")
        for document in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if document and document.get("apiVersion") == API_VERSION and fields_refused(document):
                refused.add(case.name)
        if (case / "rejected.yaml").exists():
            refused.discard(case.name)
    assert refused == set(REFUSED_HERE_ALONE)
