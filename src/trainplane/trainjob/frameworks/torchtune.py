"""torchtune: `tune run` completed with the recipe and configuration that fit the model, the devices and the arguments.

A TrainJob asks for it with the command `tune run` and nothing more. The model is read from the runtime's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trainplane.api.loose import integer_at, object_at, text_at, texts_at
from trainplane.api.problem import Problem
from trainplane.api.raw import look
from trainplane.api.roles import Role, roles_of
from trainplane.trainjob.framework_rules import TUNE_MANAGED, TUNE_MODEL, TUNE_NODES, TUNE_QLORA
from trainplane.trainjob.frameworks.variables import PORT
from trainplane.trainjob.nodes import JOBS
from trainplane.trainjob.overrides import position
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.processes import Processes, gpus, merged, resolve, resources_of

COMMAND = ("tune", "run")
MODELS = ("llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B")
SPREADABLE = "llama3_3/70B"
"""The one model with a recipe for several nodes."""
WITHOUT_QLORA = "qwen2_5/1.5B"
SINGLE_QLORA = ("llama3_2/1B", "llama3_2/3B")
"""The models whose QLoRA recipe is for one device."""
MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""The settings that belong to the runtime, because its volumes are mounted there."""


class Devices(msgspec.Struct, frozen=True):
    """What the training runs on."""

    nodes: int
    processes: Processes
    gpus: int

    @property
    def one(self) -> bool:
        """Whether it is one device in all."""
        return self.nodes == 1 and (self.processes.text == "1" or self.gpus == 1)

    @property
    def must_meet(self) -> bool:
        """Whether there are several processes, which need a place to meet."""
        return self.nodes > 1 or self.processes.known > 1


def wanted(job: Mapping[str, Any]) -> bool:
    """Whether the TrainJob leaves the recipe to us."""
    return bool(look(job, "spec", "trainer", "command") == list(COMMAND))


def extend(plan: Plan, trainer: Role) -> Plan:
    """The Plan with the whole command: where to meet, the recipe, its configuration, and the runtime's settings."""
    if trainer.container is None:
        return plan
    name = text_at(plan.raw_job, "spec", "runtimeRef", "name")
    resources = resources_of(plan, trainer)
    devices = Devices(plan.size.nodes, Processes(plan.size.procs, plan.size.procs_known), gpus(resources))
    arguments = (plan.container(trainer.index, trainer.container.name) or {}).get("args") or ()
    recipe, suffix = recipe_for(devices, arguments)
    meeting = [f"--rdzv_endpoint={plan.host(trainer.index)}:{PORT}"] if devices.must_meet else []
    runtime = list(managed(plan.raw_runtime, trainer))
    command = [*COMMAND, *meeting, recipe, "--config", f"{model(name)}{suffix}", *runtime]
    where = ("spec", "containers", position(plan, trainer, trainer.container.name), "command")
    note = f"the recipe for {name} on {devices.nodes} × {devices.processes.text} processes"
    return plan.with_pod(trainer.index, where, command, source=Source("", note=note))


def model(runtime: str) -> str:
    """The model that a runtime's name speaks of: `torchtune-llama3.2-1b` of `llama3_2/1B`; "" where of none."""
    parts = runtime.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def lora(arguments: Sequence[str]) -> bool:
    """Whether the arguments ask for LoRA."""
    return any("model.lora_attn_modules" in argument for argument in arguments)


def qlora(arguments: Sequence[str]) -> bool:
    """Whether they ask for LoRA on a quantized base, and not for DoRA."""
    return _true(arguments, "model.quantize_base") and not _true(arguments, "model.use_dora")


def recipe_for(devices: Devices, arguments: Sequence[str]) -> tuple[str, str]:
    """The recipe, and the end of its configuration's name."""
    if devices.nodes > 1:
        return "full_finetune_distributed", "_full_multinode"
    kind = "qlora" if qlora(arguments) else "lora" if lora(arguments) else "full"
    recipe = "full_finetune" if kind == "full" else "lora_finetune"
    if devices.one:
        return f"{recipe}_single_device", f"_{kind}_single_device"
    return f"{recipe}_distributed", f"_{kind}"


def managed(runtime: Mapping[str, Any], trainer: Role) -> Iterator[str]:
    """The settings that the runtime's own command has for the places it mounts."""
    if trainer.container is None:
        return
    command = (*JOBS, trainer.index, *POD, "spec", "containers", trainer.container.index, "command")
    for _, word in texts_at(runtime, *command):
        if word.split("=")[0] in MANAGED:
            yield word


def problems(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which torchtune cannot run this TrainJob; nothing where it does not ask for torchtune."""
    if not wanted(job) or look(runtime, "spec", "mlPolicy", "torch") is None:
        return
    name = text_at(job, "spec", "runtimeRef", "name")
    tuned = model(name)
    devices = devices_of(job, runtime)
    arguments = [argument for _, argument in texts_at(job, "spec", "trainer", "args")]
    if tuned not in MODELS:
        what = f"{name} speaks of the model {tuned}" if tuned else f"{name} does not speak of a model"
        todo = f"use a runtime called after one of {', '.join(_runtime_name(known) for known in MODELS)}"
        yield Problem(TUNE_MODEL, ("spec", "runtimeRef", "name"), f"{what}, for which there is no recipe", todo)
    elif devices.nodes > 1 and tuned != SPREADABLE:
        what = f"{devices.nodes} nodes are asked for, and {tuned} has a recipe for one"
        yield Problem(TUNE_NODES, ("spec", "trainer", "numNodes"), what, "set spec.trainer.numNodes to 1")
    if devices.nodes > 1 and (lora(arguments) or qlora(arguments)):
        what = f"{devices.nodes} nodes are asked for, and LoRA has recipes for one"
        todo = "set it to 1, or remove the model.lora_* arguments"
        yield Problem(TUNE_NODES, ("spec", "trainer", "numNodes"), what, todo)
    elif qlora(arguments):
        yield from _qlora_problems(tuned, devices)
    for path, argument in texts_at(job, "spec", "trainer", "args"):
        key = argument.split("=")[0]
        if key in MANAGED:
            yield Problem(TUNE_MANAGED, path, f"{key} is set by the runtime", "remove the argument")


def devices_of(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Devices:
    """What the TrainJob will run on, read from documents that need not be valid."""
    nodes = integer_at(job, "spec", "trainer", "numNodes") or integer_at(runtime, "spec", "mlPolicy", "numNodes") or 1
    trainer = roles_of(runtime).trainer
    given: list[Mapping[str, Any]] = []
    if trainer and trainer.container:
        container = (*JOBS, trainer.index, *POD, "spec", "containers", trainer.container.index)
        given.append(object_at(runtime, *container, "resources"))
    given.append(object_at(job, "spec", "trainer", "resourcesPerNode"))
    resources = merged(given)
    asked = integer_at(job, "spec", "trainer", "numProcPerNode") or look(
        runtime, "spec", "mlPolicy", "torch", "numProcPerNode"
    )
    return Devices(nodes, resolve(asked if isinstance(asked, int | str) else "auto", resources), gpus(resources))


def _qlora_problems(tuned: str, devices: Devices) -> Iterator[Problem]:
    if tuned == WITHOUT_QLORA:
        todo = "remove model.quantize_base, or use another model"
        yield Problem(TUNE_QLORA, ("spec", "runtimeRef", "name"), f"{tuned} has no QLoRA recipe", todo)
    elif tuned in SINGLE_QLORA and not devices.one:
        what = f"QLoRA of {tuned} runs on one device, and there are {devices.processes.known}"
        yield Problem(TUNE_QLORA, ("spec", "trainer", "numProcPerNode"), what, "leave it out, or set it to 1")
        yield Problem(TUNE_QLORA, ("spec", "trainer", "resourcesPerNode"), what, "ask for one GPU")


def _runtime_name(tuned: str) -> str:
    return f"torchtune-{tuned.replace('_', '.').replace('/', '-').lower()}"


def _true(arguments: Sequence[str], key: str) -> bool:
    pairs = (argument.partition("=") for argument in arguments)
    return any(key in name and value.strip().lower() == "true" for name, _, value in pairs)
