"""Documents and what becomes of them: accepted, or refused at a field. A real API server has to agree."""

from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import yaml

from trainplane.api.kinds import kind_of
from trainplane.api.problem import show
from trainplane.api.schema import strict_json_schema
from trainplane.api.structural import broken_laws, defaulted, repeated

API_VERSION = "trainer.kubeflow.org/v1alpha1"


@dataclass(frozen=True)
class Case:
    """A document, or an edit of one, and the field at which it is refused; "" when it is accepted."""

    title: str
    kind: str
    spec: str
    refused: str = ""
    before: str = ""
    name: str = "case"

    def document(self, spec: str) -> dict[str, Any]:
        """The whole document around a spec."""
        found = {"apiVersion": API_VERSION, "kind": self.kind, "metadata": {"name": self.name}}
        return {**found, "spec": yaml.safe_load(spec)}


def fields_refused(new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """The fields at which our schemas and laws refuse a document, parents standing for what is missing or unknown."""
    kind = kind_of(new["apiVersion"], new["kind"])
    assert kind is not None
    validator = jsonschema_rs.Draft202012Validator(strict_json_schema(kind.type), validate_formats=True)
    shape = [show(tuple(error.instance_path)) for error in validator.iter_errors(new)]
    if shape:
        return shape
    stored, before = defaulted(kind.type, new), defaulted(kind.type, old) if old else None
    twice = [show(path) for path in repeated(kind.type, stored)]
    return twice + [show(path) for path, _ in broken_laws(kind.type, stored, before)]


def job(title: str, spec: str, refused: str = "", **more: str) -> Case:
    """A TrainJob on the runtime `torch`."""
    return Case(title, "TrainJob", f"{{runtimeRef: {{name: torch}}, {spec}}}", refused, **more)


def edit(title: str, before: str, after: str, refused: str = "") -> Case:
    """An edit of a TrainJob on the runtime `torch`."""
    around = "{{runtimeRef: {{name: torch}}, {}}}"
    return Case(title, "TrainJob", around.format(after), refused, around.format(before))


def runtime(title: str, spec: str, refused: str = "") -> Case:
    """A TrainingRuntime."""
    return Case(title, "TrainingRuntime", f"{{{spec}}}", refused)


def patched(pod: str) -> str:
    """A runtime patch of the pods of the job `node`."""
    return (
        "runtimePatches: [{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
        f"[{{name: node, template: {{spec: {{template: {{spec: {pod}}}}}}}}}]}}}}}}}}]"
    )


POD = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec"
CPU_LOAD = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}"
ELASTIC = "mlPolicy: {torch: {elasticPolicy: {minNodes: 2, maxNodes: 8%s}}%s}"

JOBS = (
    job("a runtime alone is enough", ""),
    job("every field of the trainer", "trainer: {image: a, command: [b], args: [c], env: [{name: A, value: b}], "
        "numNodes: 2, numProcPerNode: 8, resourcesPerNode: {limits: {nvidia.com/gpu: 8, cpu: 500m}}}"),
    Case("no runtime", "TrainJob", "{suspend: true}", "spec.runtimeRef"),
    Case("no spec", "TrainJob", "null", "spec"),
    Case("an empty group", "TrainJob", "{runtimeRef: {name: a, apiGroup: ''}}", "spec.runtimeRef.apiGroup"),
    Case("another group", "TrainJob", "{runtimeRef: {name: a, apiGroup: ome.io}}"),
    Case("an empty name", "TrainJob", "{runtimeRef: {name: ''}}", "spec.runtimeRef.name"),
    Case("a null where nothing is said", "TrainJob", "{runtimeRef: {name: a, kind: null}, trainer: null}"),
    Case("a null where something must be said", "TrainJob", "{runtimeRef: {name: null}}", "spec.runtimeRef.name"),
    job("a null in a list", "trainer: {args: [null]}", "spec.trainer.args[0]"),
    job("an unknown field", "trainer: {numberOfNodes: 2}", "spec.trainer.numberOfNodes"),
    job("no nodes", "trainer: {numNodes: 0}", "spec.trainer.numNodes"),
    job("fewer than no nodes", "trainer: {numNodes: -1}", "spec.trainer.numNodes"),
    job("nodes as text", "trainer: {numNodes: '2'}", "spec.trainer.numNodes"),
    job("half a node", "trainer: {numNodes: 1.5}", "spec.trainer.numNodes"),
    job("two nodes, written 2.0", "trainer: {numNodes: 2.0}"),
    job("more nodes than 32 bits", "trainer: {numNodes: 3000000000}", "spec.trainer.numNodes"),
    job("no processes", "trainer: {numProcPerNode: 0}", "spec.trainer.numProcPerNode"),
    job("processes in words", "trainer: {numProcPerNode: auto}", "spec.trainer.numProcPerNode"),
    job("a variable twice", "trainer: {env: [{name: A}, {name: B}, {name: A}]}", "spec.trainer.env[2]"),
    job("a quantity that is none", "trainer: {resourcesPerNode: {limits: {cpu: 1 core}}}",
        "spec.trainer.resourcesPerNode.limits.cpu"),
    job("a dataset", "initializer: {dataset: {storageUri: 'hf://a/b', secretRef: {name: s}}}"),
    job("an empty storageUri", "initializer: {model: {storageUri: ''}}"),
    job("a path for a storageUri", "initializer: {model: {storageUri: /data}}", "spec.initializer.model.storageUri"),
    job("a scheme and nothing else", "initializer: {dataset: {storageUri: 'hf://'}}",
        "spec.initializer.dataset.storageUri"),
    job("kept for no time", "ttlSecondsAfterFinished: 0"),
    job("kept for less", "ttlSecondsAfterFinished: -1", "spec.ttlSecondsAfterFinished"),
    job("no time to run", "activeDeadlineSeconds: 0", "spec.activeDeadlineSeconds"),
    job("managed by MultiKueue", "managedBy: kueue.x-k8s.io/multikueue"),
    job("managed by a stranger", "managedBy: example.com/me", "spec.managedBy"),
    job("a patch", patched("{nodeSelector: {a: b}, schedulingGates: [{name: g}], containers: [{name: node}]}")),
    job("a patch without a manager", "runtimePatches: [{}]", "spec.runtimePatches[0].manager"),
    job("two patches of one manager", "runtimePatches: [{manager: a.io/x}, {manager: a.io/x}]",
        "spec.runtimePatches[1]"),
    job("a patch at a time that is none", "runtimePatches: [{manager: a.io/x, time: yesterday}]",
        "spec.runtimePatches[0].time"),
    job("a patch of what patches cannot change", patched("{hostNetwork: true}"), f"{POD}.hostNetwork"),
    job("one volume mounted twice by a patch",
        patched("{containers: [{name: c, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}]}"),
        f"{POD}.containers[0].volumeMounts[1]"),
    job("a name that begins with a digit", "", "metadata.name", name="1job"),
    job("a name with a dot", "", "metadata.name", name="a.b"),
    job("a name of 63 characters", "", name="a" * 63),
    job("a name of 64 characters", "", "metadata.name", name="a" * 64),
)  # fmt: skip

EDITS = (
    edit("suspended", "suspend: false", "suspend: true"),
    edit("another size", "trainer: {numNodes: 2, image: a}", "trainer: {numNodes: 4, image: a}"),
    edit("a size at last", "trainer: {image: a}", "trainer: {image: a, numNodes: 4}"),
    edit("another image", "trainer: {image: a}", "trainer: {image: b}", "spec.trainer"),
    edit("an image at last", "trainer: {numNodes: 2}", "trainer: {numNodes: 2, image: b}", "spec.trainer"),
    edit("no command any more", "trainer: {command: [a], image: b}", "trainer: {image: b}", "spec.trainer"),
    edit("another argument", "trainer: {args: [a, b]}", "trainer: {args: [a, c]}", "spec.trainer"),
    edit("another variable", "trainer: {env: [{name: A}]}", "trainer: {env: [{name: B}]}", "spec.trainer"),
    edit("other resources", "trainer: {resourcesPerNode: {limits: {cpu: 1}}}",
         "trainer: {resourcesPerNode: {limits: {cpu: 2}}}", "spec.trainer"),
    edit("other processes", "trainer: {numProcPerNode: 1}", "trainer: {numProcPerNode: 2}", "spec.trainer"),
    edit("a trainer at last", "", "trainer: {numNodes: 3, image: a}"),
    edit("no trainer any more", "trainer: {image: a}", ""),
    edit("another dataset", "initializer: {dataset: {storageUri: 'hf://a/b'}}",
         "initializer: {dataset: {storageUri: 'hf://a/c'}}", "spec.initializer"),
    edit("a longer deadline", "activeDeadlineSeconds: 600", "activeDeadlineSeconds: 700", "spec.activeDeadlineSeconds"),
    edit("a deadline at last", "", "activeDeadlineSeconds: 700"),
    edit("kept longer", "ttlSecondsAfterFinished: 1", "ttlSecondsAfterFinished: 2"),
    edit("another manager of the job", "", "managedBy: kueue.x-k8s.io/multikueue", "spec.managedBy"),
    edit("another manager of a patch", "runtimePatches: [{manager: a.io/x}]", "runtimePatches: [{manager: a.io/y}]"),
    edit("a patch moves the pods", patched("{nodeSelector: {a: b}}"), patched("{nodeSelector: {a: c}}")),
    edit("a patch gives the pods other rights", patched("{serviceAccountName: a}"), patched("{serviceAccountName: b}"),
         f"{POD}.serviceAccountName"),
    edit("a patch gives a container another variable", patched("{containers: [{name: c, env: [{name: A}]}]}"),
         patched("{containers: [{name: c, env: [{name: B}]}]}"), f"{POD}.containers"),
    Case("another runtime", "TrainJob", "{runtimeRef: {name: a}}", "spec.runtimeRef", "{runtimeRef: {name: b}}"),
    Case("another network for a runtime", "TrainingRuntime", "{template: {spec: {network: {subdomain: a}}}}",
         "spec.template.spec.network", "{template: {spec: {network: {subdomain: b}}}}"),
)  # fmt: skip

RUNTIMES = (
    runtime("torch", "mlPolicy: {numNodes: 2, torch: {numProcPerNode: 4}}"),
    runtime("plain", "mlPolicy: {numNodes: 2}"),
    runtime("every framework alone: MPI", "mlPolicy: {mpi: {mpiImplementation: Intel, numProcPerNode: 16}}"),
    runtime("every framework alone: JAX", "mlPolicy: {jax: {}}"),
    runtime("every framework alone: XGBoost", "mlPolicy: {xgboost: {}}"),
    runtime("every framework alone: Flux", "mlPolicy: {flux: {numProcPerNode: 2}}"),
    runtime("two frameworks", "mlPolicy: {torch: {}, mpi: {}}", "spec.mlPolicy"),
    runtime("an empty spec", "", "spec"),
    runtime("an empty template", "template: {}", "spec.template"),
    runtime("no nodes", "mlPolicy: {numNodes: 0}", "spec.mlPolicy.numNodes"),
    runtime("no slots", "mlPolicy: {mpi: {numProcPerNode: 0}}", "spec.mlPolicy.mpi.numProcPerNode"),
    runtime("MPICH", "mlPolicy: {mpi: {mpiImplementation: MPICH}}"),
    runtime("no MPI at all", "mlPolicy: {mpi: {mpiImplementation: ''}}", "spec.mlPolicy.mpi.mpiImplementation"),
    runtime("an unknown MPI", "mlPolicy: {mpi: {mpiImplementation: openmpi}}", "spec.mlPolicy.mpi.mpiImplementation"),
    *(runtime(f"{word} processes", f"mlPolicy: {{torch: {{numProcPerNode: {word}}}}}")
      for word in ("auto", "cpu", "gpu", "'4'", "4")),
    *(runtime(f"{word} processes", f"mlPolicy: {{torch: {{numProcPerNode: {word}}}}}",
              "spec.mlPolicy.torch.numProcPerNode") for word in ("0", "'0'", "-1", "tpu", "''", "1.5", "true")),
    runtime("elastic", ELASTIC % (", maxRestarts: 3", "")),
    runtime("elastic from a size within", ELASTIC % ("", ", numNodes: 8")),
    runtime("elastic from a size below", ELASTIC % ("", ", numNodes: 1"), "spec.mlPolicy"),
    runtime("elastic from a size above", ELASTIC % ("", ", numNodes: 9"), "spec.mlPolicy"),
    runtime("restarts alone", "mlPolicy: {numNodes: 2, torch: {elasticPolicy: {maxRestarts: 3}}}"),
    runtime("half the bounds", "mlPolicy: {torch: {elasticPolicy: {minNodes: 2}}}",
            "spec.mlPolicy.torch.elasticPolicy"),
    runtime("the other half", "mlPolicy: {numNodes: 3, torch: {elasticPolicy: {maxNodes: 2}}}",
            "spec.mlPolicy.torch.elasticPolicy"),
    runtime("bounds the wrong way round", "mlPolicy: {torch: {elasticPolicy: {minNodes: 4, maxNodes: 2}}}",
            "spec.mlPolicy.torch.elasticPolicy"),
    runtime("elastic by load", ELASTIC % (f", metrics: [{CPU_LOAD}]", "")),
    runtime("load without bounds", "mlPolicy: {torch: {elasticPolicy: {maxRestarts: 1, metrics: [{type: Resource}]}}}",
            "spec.mlPolicy.torch.elasticPolicy"),
    runtime("variables for a sidecar",
            "mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [sidecar]}]}}}"),
    runtime("variables for the trainer again",
            "mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [a, node]}]}}}",
            "spec.mlPolicy.torch.envInjection.targets[0].containerNames"),
    runtime("one sidecar twice",
            "mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [a, a]}]}}}",
            "spec.mlPolicy.torch.envInjection.targets[0].containerNames[1]"),
    runtime("gangs", "podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 600}}"),
    runtime("gangs by Volcano", "podGroupPolicy: {volcano: {minMember: 4, queue: q, priorityClassName: p, "
            "networkTopology: {mode: soft}}}"),
    runtime("gangs by both", "podGroupPolicy: {coscheduling: {}, volcano: {}}", "spec.podGroupPolicy"),
    runtime("a gang of none", "podGroupPolicy: {volcano: {minMember: 0}}", "spec.podGroupPolicy.volcano.minMember"),
    runtime("a replicated job without a template", "template: {spec: {replicatedJobs: [{name: node}]}}",
            "spec.template.spec.replicatedJobs[0].template"),
    runtime("containers where a JobSet is meant", "template: {spec: {containers: [{name: node}]}}",
            "spec.template.spec.containers"),
    runtime("two ways to order", "template: {spec: {startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: "
            "[{name: a, template: {}}, {name: b, template: {}, dependsOn: [{name: a, status: Ready}]}]}}",
            "spec.template.spec"),
    runtime("a claim in another namespace", "template: {spec: {volumeClaimPolicies: [{templates: [{metadata: "
            "{name: data, namespace: other}}]}]}}", "spec.template.spec.volumeClaimPolicies[0]"),
    runtime("an unknown framework", "mlPolicy: {pytorch: {}}", "spec.mlPolicy.pytorch"),
)  # fmt: skip

CASES = (*JOBS, *EDITS, *RUNTIMES)
