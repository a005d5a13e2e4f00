"""Names in commands: filled in where no shell would, left alone where one will."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainjob.worlds import container, env, render, replicated, rule_ids
from trainplane.trainjob.frameworks.variables import Variable
from trainplane.trainjob.plan import Source
from trainplane.trainjob.substitute import fill

GPUS = {"limits": {"nvidia.com/gpu": 4}}


def node(**container_fields):
    return replicated("node", {"name": "node", "image": "i", **container_fields}, step="trainer")


def args(words, *, policy=None, trainer=None, **fields):
    """The args that these become on two nodes with four GPUs each."""
    plan = render(policy or {"numNodes": 2, "torch": {}}, trainer, node(args=words, **{"resources": GPUS, **fields}))
    return container(plan)["args"]


@pytest.mark.parametrize("name", ["$(NUM_NODES)", "${NUM_NODES}", "$NUM_NODES"])
def test_three_forms_in_a_command_without_a_shell(name):
    plan = render({"numNodes": 2, "torch": {}}, None, node(command=["torchrun", f"--nnodes={name}"], args=[name]))
    assert container(plan)["command"] == ["torchrun", "--nnodes=2"]
    assert container(plan)["args"] == ["2"]
    assert "NUM_NODES" not in env(plan)


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("$NNODES x $NPROC_PER_NODE = $WORLD_SIZE", "2 x auto = 8"),
        ("$JOB_NAME.$JOB_NAMESPACE", "job.ns"),
        ("$MASTER_ADDR:$MASTER_PORT", "job-node-0-0.job:29500"),
        ("$$(NUM_NODES) $${NUM_NODES} $$NUM_NODES", "$$(NUM_NODES) $${NUM_NODES} $$NUM_NODES"),
        ("$$$(NUM_NODES)", "$$2"),
        ("$HOME $(date) ${X:-1} $NUM_NODES_MORE", "$HOME $(date) ${X:-1} $NUM_NODES_MORE"),
        ("$MPI_NP", "$MPI_NP"),
        ("cost: 5$ $", "cost: 5$ $"),
    ],
)
def test_what_is_known_is_filled_in_and_the_rest_left(word, filled):
    assert args([word]) == [filled]


def test_master_is_in_the_environment_wherever_it_is_spoken_of_and_nowhere_else():
    plan = render({"numNodes": 2, "torch": {}}, None, node(args=["--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"]))
    assert (env(plan)["MASTER_ADDR"], env(plan)["MASTER_PORT"]) == ("job-node-0-0.job", "29500")
    assert "MASTER_ADDR" not in env(render({"torch": {}}, None, node(args=["train.py"])))


def test_a_variable_that_another_one_needs_stands_before_it():
    given = [{"name": "URL", "value": "tcp://$(MASTER_ADDR):$(MASTER_PORT)"}]
    found = env(render({"torch": {}}, None, node(env=given)))
    assert list(found)[:3] == ["MASTER_ADDR", "MASTER_PORT", "URL"]
    assert found["URL"] == "tcp://$(MASTER_ADDR):$(MASTER_PORT)"


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "torchrun --nnodes=$NUM_NODES"],
        ["/bin/bash", "-euc", "torchrun --nnodes=${NUM_NODES:-1}"],
        ["/usr/bin/env", "bash", "--login", "-c", "torchrun --nnodes=$(NUM_NODES)"],
        ["bash", "-euo", "pipefail", "-c", "torchrun --nnodes=$NUM_NODES"],
        ["bash", "-c", "-e", "torchrun --nnodes=$NUM_NODES"],
    ],
)
def test_a_script_stays_and_finds_the_variable(words):
    plan = render({"numNodes": 2, "torch": {}}, None, node(command=words))
    assert container(plan)["command"] == words
    assert env(plan)["NUM_NODES"] == "2"


def test_the_words_behind_a_script_are_filled_in():
    plan = render({"numNodes": 2, "torch": {}}, None, node(command=["sh", "-c", 'echo "$0"', "$NUM_NODES"]))
    assert container(plan)["command"][-1] == "2"


def test_a_script_file_is_no_script_text():
    plan = render({"numNodes": 2, "torch": {}}, None, node(command=["bash", "run.sh", "$NUM_NODES"]))
    assert container(plan)["command"] == ["bash", "run.sh", "2"]


def test_names_of_the_containers_own_are_left_for_it():
    own = [{"name": "WORLD_SIZE", "value": "3"}, {"name": "MASTER_ADDR", "value": "me"}]
    plan = render({"torch": {}}, {"env": own}, node(args=["$(WORLD_SIZE)", "$MASTER_ADDR"]))
    assert container(plan)["args"] == ["$(WORLD_SIZE)", "$MASTER_ADDR"]
    assert env(plan)["MASTER_ADDR"] == "me"


def test_the_rank_is_filled_in_by_the_pod():
    plan = render({"numNodes": 2, "torch": {}}, None, node(args=["--node_rank=${NODE_RANK}"]))
    assert container(plan)["args"] == ["--node_rank=$(NODE_RANK)"]
    assert "job-completion-index" in env(plan)["NODE_RANK"]


def test_an_elastic_job_tells_its_bounds_and_has_no_fixed_world():
    policy = {"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 4, "maxRestarts": 1}}}
    plan = render(policy, None, node(args=["--nnodes=$NUM_NODES", "$WORLD_SIZE"]))
    assert container(plan)["args"] == ["--nnodes=1:4", "$WORLD_SIZE"]
    assert rule_ids(plan) == ["TP124"]


def test_a_world_that_only_torchrun_can_count_is_left_and_said():
    plan = render({"torch": {"numProcPerNode": "gpu"}}, None, node(args=["$NPROC_PER_NODE", "$WORLD_SIZE"]))
    assert container(plan)["args"] == ["gpu", "$WORLD_SIZE"]
    assert rule_ids(plan) == ["TP120", "TP124"]


def test_the_launcher_knows_how_many_processes_mpirun_starts():
    worker = replicated("worker", {"name": "w", "image": "i", "command": ["sshd", "-D"]})
    launcher = replicated("launcher", {"name": "l", "image": "i", "command": ["mpirun", "-np", "$(MPI_NP)", "x"]})
    plan = render({"numNodes": 4, "mpi": {"numProcPerNode": 4}}, None, launcher, worker)
    assert container(plan, "launcher")["command"] == ["mpirun", "-np", "16", "x"]


@given(st.text(alphabet="$(){}AB_ x", max_size=30))
def test_what_is_escaped_is_never_filled_in(word):
    escaped = word.replace("$", "$$")
    assert fill(escaped, {"A": Variable("A", "1", Source(""))}) == (escaped, [])


@given(st.text(max_size=40))
def test_nothing_is_touched_where_nothing_is_known(word):
    assert fill(word, {}) == (word, [])
