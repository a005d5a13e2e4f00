"""The troubleshooting commands of the OME document, as people paste them; placeholders get what to read instead."""

import re
import time
from collections.abc import Iterator

import pytest

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving
from tests.patience import PATIENCE
from tests.places import need_shared

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)

WORLD = """
apiVersion: v1
kind: Node
metadata: {name: gpu-node-1}
spec: {unschedulable: true}
---
apiVersion: ome.io/v1beta1
kind: TrainingRuntime
metadata: {name: pytorch-runtime}
spec:
  mlPolicy: {numNodes: 2, torch: {numProcPerNode: 2}}
  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 120}}
  template: {spec: {replicatedJobs: [{name: worker, template: {spec: {template: {spec: {
    containers: [{name: trainer, image: "example.test/train:1", resources: {limits: {nvidia.com/gpu: 2}}}]}}}}}]}}
---
apiVersion: ome.io/v1beta1
kind: TrainJob
metadata: {name: training}
spec: {runtimeRef: {name: pytorch-runtime, kind: TrainingRuntime, apiGroup: ome.io}}
---
apiVersion: v1
kind: Pod
metadata: {name: training-pod}
spec: {containers: [{name: trainer, image: "example.test/train:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: training-worker-0}
spec:
  containers:
  - {name: trainer, image: "example.test/train:1", resources: {limits: {cpu: 4, nvidia.com/gpu: 8}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: training-worker}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: trainer, image: "example.test/train:1"}]}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus}
spec: {hard: {requests.nvidia.com/gpu: 16}}
"""
STATUS = (
    '{"status":{"capacity":{"cpu":"8","nvidia.com/gpu":"8","pods":"10"},'
    '"allocatable":{"cpu":"8","nvidia.com/gpu":"8","pods":"10"}}}'
)
COMMANDS = {
    "get podgroups -A": ("default     training", 0),
    "describe nodes": ("Allocated resources:", 0),
    # A placeholder: the scheduler is no pod here, and says what keeps a pod in Events.
    "logs -n kube-system scheduler-plugins-scheduler": ('pods "scheduler-plugins-scheduler" not found', 1),
    # A pod that is on no node has nothing to look into, on a real cluster as here.
    "exec -it training-pod -- ls /dev/infiniband/": ("pod training-pod does not have a host assigned", 1),
    "exec -it training-pod -- nvidia-smi topo -m": ("pod training-pod does not have a host assigned", 1),
    "exec -it training-pod -- nccl-test all-reduce": ("pod training-pod does not have a host assigned", 1),
    "describe node gpu-node-1": ("nvidia.com/gpu:  8", 0),
    "describe pod training-worker-0": ("nvidia.com/gpu:  8", 0),
    "get resourcequota -A": ("requests.nvidia.com/gpu: 12/16", 0),
    "get trainingruntimes -A": ("default     pytorch-runtime", 0),
    "describe trainingruntime pytorch-runtime": ("Num Proc Per Node:  2", 0),
    "get jobsets -A": ("default     training", 0),
    "logs -f job/training-worker -c trainer": ("", 0),
}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("documents")) as run:
        run("apply -f -", given=WORLD)
        run("patch node gpu-node-1 --subresource=status --type=merge -p", STATUS)
        run("wait --for=jsonpath={.status.active}=1 job/training-worker --timeout=60s")
        run("wait --for=create jobset/training --timeout=60s")
        yield run


def told_at_last(kubectl: Kubectl, words: str, seen: str, *, code: int = 0) -> None:
    """Ask until it is told: controllers and the scheduler say what they find in their own time."""
    end = time.monotonic() + PATIENCE
    while seen not in (told := kubectl.told(words, code=code)):
        assert time.monotonic() < end, told
        time.sleep(0.1)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_troubleshooting_command(kubectl: Kubectl, words: str) -> None:
    seen, code = COMMANDS[words]
    told_at_last(kubectl, words, seen, code=code)


def test_what_the_scheduler_says_is_in_events(kubectl: Kubectl) -> None:
    told_at_last(kubectl, "get events --field-selector=reason=FailedScheduling", "0/1 nodes are available")


def test_every_command_of_the_document_is_tried() -> None:
    folder = need_shared("seeds")
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("000_*.txt"))]
    lines = [line for text in texts for line in re.findall(r"^kubectl (.+)$", text, re.MULTILINE)]
    assert lines
    assert set(lines) == set(COMMANDS)
