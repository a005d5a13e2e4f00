"""torchtune: the recipe and configuration for a model, its devices and its arguments; and what has none."""

import pytest

from tests.trainjob.worlds import container, env, replicated, runtime, trainjob
from trainplane.trainjob.frameworks.torchtune import lora, model, problems, qlora
from trainplane.trainjob.pipeline import build

LORA = ["model.lora_attn_modules=[q_proj,v_proj]", "model.lora_rank=8"]
QLORA = [*LORA, "model.quantize_base=True"]
SETTINGS = ["output_dir=/out", "tokenizer.path=/m/tok.model", "checkpointer.checkpoint_dir=/m"]
TEMPLATE = ["tune", "run", "--rdzv_endpoint=localhost:29500", "recipe", "--config", "c", "dataset=ours", *SETTINGS]


def documents(name, trainer, *, nodes=None, resources=None):
    node = {"name": "node", "image": "i", "command": TEMPLATE, "resources": resources or {}}
    policy = {"torch": {}} if nodes is None else {"torch": {}, "numNodes": nodes}
    given = runtime(policy, replicated("node", node, step="trainer"), name=name)
    return trainjob({"command": ["tune", "run"], **trainer}, runtime=name), given


def gpus(count):
    return {"resourcesPerNode": {"limits": {"nvidia.com/gpu": count}}}


@pytest.mark.parametrize(
    ("name", "trainer", "recipe", "config"),
    [
        ("torchtune-llama3.2-1b", gpus(1), "full_finetune_single_device", "llama3_2/1B_full_single_device"),
        ("torchtune-llama3.2-1b", {}, "full_finetune_single_device", "llama3_2/1B_full_single_device"),
        ("torchtune-llama3.2-1b", gpus(4), "full_finetune_distributed", "llama3_2/1B_full"),
        ("torchtune-llama3.2-1b", {**gpus(4), "numProcPerNode": 1}, "full_finetune_single_device", None),
        ("torchtune-llama3.2-3b", {**gpus(2), "args": LORA}, "lora_finetune_distributed", "llama3_2/3B_lora"),
        (
            "torchtune-llama3.2-3b",
            {**gpus(1), "args": QLORA},
            "lora_finetune_single_device",
            "llama3_2/3B_qlora_single_device",
        ),
        ("torchtune-llama3.3-70b", {**gpus(8), "args": QLORA}, "lora_finetune_distributed", "llama3_3/70B_qlora"),
        (
            "torchtune-llama3.3-70b",
            {**gpus(8), "numNodes": 2},
            "full_finetune_distributed",
            "llama3_3/70B_full_multinode",
        ),
    ],
)
def test_the_recipe_fits_model_devices_and_arguments(name, trainer, recipe, config):
    job, given = documents(name, trainer)
    assert list(problems(job, given)) == []
    command = container(build(job, given))["command"]
    assert recipe in command
    assert config is None or command[command.index("--config") + 1] == config
    assert command[-3:] == SETTINGS


@pytest.mark.parametrize(
    ("trainer", "meets"),
    [
        pytest.param(gpus(4), True, id="several GPUs"),
        pytest.param(gpus(1), False, id="one GPU"),
        pytest.param({"numProcPerNode": 2}, True, id="two processes"),
        pytest.param({**gpus(8), "numNodes": 2}, True, id="two nodes"),
    ],
)
def test_several_processes_get_a_place_to_meet(trainer, meets):
    job, given = documents("torchtune-llama3.3-70b", trainer)
    assert ("--rdzv_endpoint=job-node-0-0.job:29500" in container(build(job, given))["command"]) is meets


def test_torchrun_is_not_told_a_master_and_the_trainjob_is_untouched():
    job, given = documents("torchtune-llama3.2-1b", {**gpus(1), "args": ["epochs=2"]})
    plan = build(job, given)
    assert list(env(plan)) == ["PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK"]
    assert container(plan)["args"] == ["epochs=2"]
    assert job["spec"]["trainer"]["command"] == ["tune", "run"]


def test_a_longer_command_is_ordinary_torch():
    job, given = documents("torchtune-llama3.2-1b", {"command": ["tune", "run", "mine"], "numNodes": 2})
    plan = build(job, given)
    assert container(plan)["command"] == ["tune", "run", "mine"]
    assert "PET_MASTER_ADDR" in env(plan)
    assert list(problems(job, given)) == []


@pytest.mark.parametrize(
    ("name", "trainer", "nodes", "fields"),
    [
        pytest.param("my-tune", gpus(1), None, ["spec.runtimeRef.name"], id="a name without a model"),
        pytest.param("torchtune-llama3.1-70b", gpus(1), None, ["spec.runtimeRef.name"], id="a model without a recipe"),
        pytest.param(
            "torchtune-llama3.2-3b", {**gpus(8), "numNodes": 2}, None, ["spec.trainer.numNodes"], id="two nodes"
        ),
        pytest.param("torchtune-llama3.2-3b", gpus(8), 2, ["spec.trainer.numNodes"], id="two nodes by the runtime"),
        pytest.param(
            "torchtune-llama3.3-70b",
            {**gpus(8), "numNodes": 2, "args": LORA},
            None,
            ["spec.trainer.numNodes"],
            id="LoRA on two nodes",
        ),
        pytest.param(
            "torchtune-qwen2.5-1.5b", {**gpus(1), "args": QLORA}, None, ["spec.runtimeRef.name"], id="QLoRA of qwen"
        ),
        pytest.param(
            "torchtune-llama3.2-1b",
            {**gpus(2), "args": QLORA},
            None,
            ["spec.trainer.numProcPerNode", "spec.trainer.resourcesPerNode"],
            id="QLoRA on two devices",
        ),
        pytest.param(
            "torchtune-llama3.2-1b",
            {**gpus(1), "args": ["output_dir=/x", "ok=1", "tokenizer.path=/y"]},
            None,
            ["spec.trainer.args[0]", "spec.trainer.args[2]"],
            id="settings of the runtime",
        ),
    ],
)
def test_what_torchtune_cannot_do_is_refused_at_its_field(name, trainer, nodes, fields):
    job, given = documents(name, trainer, nodes=nodes)
    found = list(problems(job, given))
    assert [problem.field for problem in found] == fields
    assert all(problem.todo for problem in found)


def test_admission_counts_devices_as_rendering_does():
    job, given = documents("torchtune-llama3.2-1b", {"args": QLORA})
    assert list(problems(job, given)) == []
    assert "lora_finetune_single_device" in container(build(job, given))["command"]
    job, given = documents("torchtune-llama3.2-1b", {"args": QLORA}, resources={"limits": {"nvidia.com/gpu": 2}})
    assert len(list(problems(job, given))) == 2


@pytest.mark.parametrize("broken", [{}, {"spec": 3}, {"spec": {"trainer": {"command": ["tune", "run"], "args": 3}}}])
def test_broken_documents_are_read_without_a_fault(broken):
    list(problems(broken, {"spec": {"mlPolicy": {"torch": {"numProcPerNode": []}}}}))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("torchtune-llama3.2-1b", "llama3_2/1B"),
        ("torchtune-qwen2.5-1.5b", "qwen2_5/1.5B"),
        ("two-parts", ""),
        ("a-b-c-d", ""),
        ("", ""),
    ],
)
def test_the_model_is_in_the_runtimes_name(name, found):
    assert model(name) == found


@pytest.mark.parametrize(
    ("arguments", "with_lora", "quantized"),
    [
        ([], False, False),
        (LORA, True, False),
        (QLORA, True, True),
        ([*LORA, "model.quantize_base=False"], True, False),
        ([*QLORA, "model.use_dora= TRUE "], True, False),
        ([*QLORA, "model.use_dora=False"], True, True),
    ],
)
def test_lora_is_told_from_the_arguments(arguments, with_lora, quantized):
    assert (lora(arguments), qlora(arguments)) == (with_lora, quantized)
