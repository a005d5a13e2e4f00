"""What people do with the unmodified kubeflow SDK; played by the Python of an environment that has it."""

import os

from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    HuggingFaceDatasetInitializer,
    Initializer,
    LoraConfig,
    TorchTuneConfig,
    TrainerClient,
    TrainerType,
)
from kubeflow.trainer.options import ActiveDeadlineSeconds, Annotations, Labels, Name, TrainerArgs, TrainerCommand
from kubernetes import client as kubernetes
from kubernetes import config
from stories import play

os.environ.setdefault("KUBEFLOW_SYSTEM_NAMESPACE", "kubeflow-system")
config.load_kube_config()
custom, core = kubernetes.CustomObjectsApi(), kubernetes.CoreV1Api()
GROUP = {"group": "trainer.kubeflow.org", "version": "v1alpha1"}
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def runtime(name: str, framework: str, *, seconds: str = "1", exit_code: str = "0", initializer: bool = False) -> None:
    """Make a runtime whose simulated pods end soon."""

    def job(step: str, container: str) -> dict:
        annotations = {"simulate.trainplane.dev/seconds": seconds, "simulate.trainplane.dev/exit-code": exit_code}
        mounts = [{"name": "initializer", "mountPath": "/workspace"}]
        pod = {
            "restartPolicy": "Never",
            "containers": [{"name": container, "image": "example.test/train:1", "volumeMounts": mounts}],
            "volumes": [{"name": "initializer", "emptyDir": {}}],
        }
        spec = {"backoffLimit": 0, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
        return {"name": container, "template": {"metadata": {"labels": {ANCESTOR: step}}, "spec": spec}}

    jobs = [job("dataset-initializer", "dataset-initializer")] if initializer else []
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": framework}},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
            "template": {"spec": {"replicatedJobs": [*jobs, job("trainer", "node")]}},
        },
    }
    custom.create_cluster_custom_object(plural="clustertrainingruntimes", body=body, **GROUP)


runtime("quick", "torch")
runtime("failing", "torch", exit_code="3")
runtime("slow", "torch", seconds="600")
runtime("torchtune-llama3.2-1b", "torchtune", initializer=True)
trainer = TrainerClient()


def stored(name: str) -> dict:
    return custom.get_namespaced_custom_object(namespace="default", plural="trainjobs", name=name, **GROUP)


def gone(name: str) -> None:
    try:
        trainer.get_job(name)
    except RuntimeError:
        return
    raise AssertionError(f"{name} is still there")


def train(rate: float) -> None:
    print(f"training at {rate}")


def runtimes_are_listed_and_got() -> None:
    names = {each.name for each in trainer.list_runtimes()}
    assert {"torch-distributed", "jax-distributed", "quick", "torchtune-llama3.2-1b"} <= names, names
    found = trainer.get_runtime("torch-distributed")
    assert (found.name, found.trainer.framework) == ("torch-distributed", "torch")
    assert trainer.get_runtime("torchtune-llama3.2-1b").trainer.trainer_type == TrainerType.BUILTIN_TRAINER
    try:
        trainer.get_runtime("none")
    except RuntimeError:
        return
    raise AssertionError("a runtime that is not there was found")


def a_function_is_trained_to_its_end() -> None:
    resources = {"cpu": 1, "memory": "64Mi"}
    custom_trainer = CustomTrainer(func=train, func_args={"rate": 0.1}, num_nodes=2, resources_per_node=resources)
    name = trainer.train(runtime="quick", trainer=custom_trainer)
    spec = stored(name)["spec"]
    assert spec["runtimeRef"]["apiGroup"] == "trainer.kubeflow.org"
    assert spec["trainer"]["numNodes"] == 2
    assert "torchrun" in spec["trainer"]["command"][-1]
    job = trainer.wait_for_job_status(name, status={"Running", "Complete"}, timeout=120, polling_interval=0.25)
    assert job.num_nodes == 2
    job = trainer.wait_for_job_status(name, timeout=120, polling_interval=0.5)
    assert job.status == "Complete"
    assert sorted(step.name for step in job.steps) == ["node-0", "node-1"]
    assert {step.status for step in job.steps} == {"Succeeded"}
    trainer.delete_job(name)
    gone(name)


def a_running_job_is_seen_running() -> None:
    name = trainer.train(runtime=trainer.get_runtime("slow"), trainer=CustomTrainer(func=train, func_args={"rate": 1}))
    job = trainer.wait_for_job_status(name, status={"Running"}, timeout=120, polling_interval=0.25)
    assert job.status == "Running"
    assert name in [each.name for each in trainer.list_jobs()]
    assert [each.name for each in trainer.list_jobs(runtime=trainer.get_runtime("slow"))] == [name]
    assert isinstance(trainer.get_job_events(name), list)
    trainer.delete_job(name)
    gone(name)


def a_failure_is_told() -> None:
    name = trainer.train(runtime="failing", trainer=CustomTrainer(func=train, func_args={"rate": 1}))
    job = trainer.wait_for_job_status(name, status={"Failed"}, timeout=120, polling_interval=0.5)
    assert job.status == "Failed"
    trainer.delete_job(name)


def a_built_in_trainer_is_asked_for() -> None:
    tune = TorchTuneConfig(batch_size=4, epochs=1, peft_config=LoraConfig(lora_rank=8), resources_per_node={"cpu": 1})
    dataset = HuggingFaceDatasetInitializer(storage_uri="hf://example/data")
    try:
        name = trainer.train(
            runtime="torchtune-llama3.2-1b",
            trainer=BuiltinTrainer(config=tune),
            initializer=Initializer(dataset=dataset),
        )
    except RuntimeError as error:
        cause = error.__cause__ or error
        raise AssertionError(getattr(cause, "body", cause)) from error
    spec = stored(name)["spec"]
    assert spec["trainer"]["command"] == ["tune", "run"]
    assert "batch_size=4" in spec["trainer"]["args"]
    assert spec["initializer"]["dataset"]["storageUri"] == "hf://example/data"
    trainer.get_job(name)
    trainer.delete_job(name)


def a_container_with_options() -> None:
    options = [
        Name("with-options"),
        Labels({"team": "a"}),
        Annotations({"note": "b"}),
        TrainerCommand(["python"]),
        TrainerArgs(["train.py"]),
        ActiveDeadlineSeconds(600),
    ]
    image = CustomTrainerContainer(image="example.test/own:1", resources_per_node={"cpu": "500m"})
    assert trainer.train(runtime="quick", trainer=image, options=options) == "with-options"
    raw = stored("with-options")
    assert raw["metadata"]["labels"]["team"] == "a"
    assert raw["spec"]["activeDeadlineSeconds"] == 600
    assert raw["spec"]["trainer"]["command"] == ["python"]
    job = trainer.wait_for_job_status("with-options", timeout=120, polling_interval=0.5)
    assert job.status == "Complete"
    events = trainer.get_job_events("with-options")
    assert all(event.reason for event in events)
    trainer.delete_job("with-options")


def nothing_but_a_runtime() -> None:
    name = trainer.train(runtime="quick")
    assert set(stored(name)["spec"]["runtimeRef"]) == {"apiGroup", "kind", "name"}
    assert list(trainer.get_job_logs(name, step="node-9")) == []
    trainer.delete_job(name)
    try:
        trainer.delete_job(name)
    except RuntimeError:
        return
    raise AssertionError("a job that is not there was deleted")


play(
    runtimes_are_listed_and_got,
    a_function_is_trained_to_its_end,
    a_running_job_is_seen_running,
    a_failure_is_told,
    a_built_in_trainer_is_asked_for,
    a_container_with_options,
    nothing_but_a_runtime,
)
