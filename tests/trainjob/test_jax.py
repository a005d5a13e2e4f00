"""JAX: one process on each node, which knows the coordinator."""

from tests.trainjob.worlds import container, env, render, replicated

RANK = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def test_nodes_know_the_coordinator_their_number_and_themselves():
    plan = render({"jax": {}}, {"numNodes": 3, "numProcPerNode": 4})
    assert env(plan) == {
        "JAX_NUM_PROCESSES": "3",
        "JAX_PROCESS_ID": RANK,
        "JAX_COORDINATOR_ADDRESS": "job-node-0-0.job:29500",
    }
    assert container(plan)["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]
    assert plan.size.world == 3


def test_without_a_trainer_section_and_under_another_name():
    worker = replicated("worker", {"name": "main", "image": "i"})
    plan = render({"numNodes": 2, "jax": {}}, None, worker, network={"subdomain": "mesh"})
    assert env(plan, "worker")["JAX_COORDINATOR_ADDRESS"] == "job-worker-0-0.mesh:29500"
    assert env(plan, "worker")["JAX_NUM_PROCESSES"] == "2"


def test_a_trainjobs_own_variable_wins_and_the_templates_does_not():
    given = [{"name": "JAX_NUM_PROCESSES", "value": "9"}, {"name": "KEPT", "value": "k"}]
    node = replicated("node", {"name": "node", "image": "i", "env": given}, step="trainer")
    own = [{"name": "MINE", "value": "m"}, {"name": "JAX_COORDINATOR_ADDRESS", "value": "elsewhere:1"}]
    found = env(render({"jax": {}}, {"numNodes": 2, "env": own}, node))
    assert found["JAX_NUM_PROCESSES"] == "2"
    assert found["JAX_COORDINATOR_ADDRESS"] == "elsewhere:1"
    assert list(found) == ["JAX_NUM_PROCESSES", "KEPT", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS", "MINE"]
