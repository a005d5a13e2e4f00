"""The documents that are measured: a two-node torch TrainJob, and a folder of a thousand like it."""

from pathlib import Path

TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: bench-{number}
  namespace: research
  labels:
    team: vision
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    image: example.com/research/trainer:2.3
    command: [torchrun, train.py]
    args: [--epochs=3, --batch-size=64]
    numNodes: 2
    numProcPerNode: 8
    resourcesPerNode:
      requests: {{cpu: "16", memory: 128Gi}}
      limits: {{nvidia.com/gpu: "8"}}
    env:
      - name: NCCL_DEBUG
        value: WARN
      - name: SEED
        value: "{number}"
"""

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch-{number}
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 2
    torch:
      numProcPerNode: auto
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
                      image: example.com/research/trainer:2.3
                      resources:
                        limits: {{nvidia.com/gpu: "8"}}
"""


def trainjob(number: int = 0) -> str:
    """A two-node torch TrainJob."""
    return TRAINJOB.format(number=number)


def fill(folder: Path, *, documents: int) -> None:
    """Write that many documents, one to a file: three TrainJobs to each runtime."""
    for number in range(documents):
        text = RUNTIME if number % 4 == 3 else TRAINJOB
        (folder / f"{number:04}.yaml").write_text(text.format(number=number), encoding="utf-8")
