"""torch: what torchrun is told, from which resources it is counted, and where else it is told."""

import pytest

from tests.trainjob.worlds import container, env, job, render, replicated, rule_ids, runtime, trainjob
from trainplane.trainjob.frameworks.torch import problems
from trainplane.trainjob.pipeline import build_with_blame
from trainplane.trainjob.plan import Source

RANK = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
GPUS = {"limits": {"nvidia.com/gpu": 4}}


def test_two_nodes_are_told_how_many_they_are_and_where_they_meet():
    plan = render({"torch": {}}, {"numNodes": 2})
    assert env(plan) == {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": RANK,
        "PET_MASTER_ADDR": "job-node-0-0.job",
        "PET_MASTER_PORT": "29500",
    }
    assert container(plan)["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]
    assert plan.size.world == 2


def test_a_trainjob_without_a_trainer_section_is_told_too():
    plan = render({"numNodes": 3, "torch": {}}, None)
    assert env(plan)["PET_NNODES"] == "3"
    assert container(plan)["ports"][0]["containerPort"] == 29500


def test_the_address_has_the_real_name_of_the_job_and_the_subdomain():
    worker = replicated("worker", {"name": "pytorch", "image": "i"})
    plan = render({"torch": {}}, {}, worker, network={"subdomain": "mesh"})
    assert env(plan, "worker")["PET_MASTER_ADDR"] == "job-worker-0-0.mesh"


@pytest.mark.parametrize(
    ("policy", "trainer", "procs", "known"),
    [
        pytest.param({}, {}, "1", 1, id="nothing said: one"),
        pytest.param({}, {"resourcesPerNode": {"requests": {"cpu": "3500m"}}}, "4", 4, id="CPUs are rounded up"),
        pytest.param({}, {"resourcesPerNode": {"requests": {"cpu": 2}, "limits": {"cpu": 7}}}, "2", 2, id="requests"),
        pytest.param({}, {"resourcesPerNode": {"limits": {"acme.io/BigGPU": 3}}}, "auto", 3, id="a name with gpu"),
        pytest.param(
            {}, {"resourcesPerNode": {"limits": {"a.io/gpu": 1, "b.io/gpu": 2}}}, "auto", 3, id="kinds of GPU add up"
        ),
        pytest.param(
            {"numProcPerNode": "gpu"},
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 2, "nvidia.com/gpumem": 3000}}},
            "2",
            2,
            id="memory of a GPU is no GPU",
        ),
        pytest.param({}, {"resourcesPerNode": {"limits": {"nvidia.com/mig-1g.10gb": 2}}}, "1", 1, id="a slice is none"),
        pytest.param({"numProcPerNode": "gpu"}, {"resourcesPerNode": GPUS}, "4", 4, id="gpu counts GPUs"),
        pytest.param(
            {"numProcPerNode": "cpu"},
            {"resourcesPerNode": {**GPUS, "requests": {"cpu": 6}}},
            "6",
            6,
            id="cpu counts CPUs beside GPUs",
        ),
        pytest.param({"numProcPerNode": "8"}, {"resourcesPerNode": GPUS}, "8", 8, id="the runtime's number"),
        pytest.param({"numProcPerNode": 8}, {"numProcPerNode": 3}, "3", 3, id="the TrainJob's number goes first"),
        pytest.param({"numProcPerNode": "auto"}, {"resourcesPerNode": GPUS}, "auto", 4, id="auto with GPUs stays auto"),
    ],
)
def test_processes_per_node(policy, trainer, procs, known):
    plan = render({"torch": policy}, {"numNodes": 2, **trainer})
    assert env(plan)["PET_NPROC_PER_NODE"] == procs
    assert plan.size.world == 2 * known
    assert rule_ids(plan) == []


def test_gpus_of_the_runtime_count_when_the_trainjob_asks_for_cpus_only():
    node = replicated("node", {"name": "node", "image": "i", "resources": GPUS}, step="trainer")
    plan = render({"torch": {}}, {"resourcesPerNode": {"requests": {"cpu": 3}}}, node)
    assert env(plan)["PET_NPROC_PER_NODE"] == "auto"
    assert plan.size.procs_known == 4


def test_one_process_per_gpu_without_a_gpu_is_left_to_torchrun_and_warned_of():
    plan = render({"torch": {"numProcPerNode": "gpu"}}, {})
    assert env(plan)["PET_NPROC_PER_NODE"] == "gpu"
    assert rule_ids(plan) == ["TP120"]


def test_variables_of_the_template_keep_their_places_and_reserved_ones_their_meaning():
    given = [{"name": "FIRST", "value": "1"}, {"name": "PET_NNODES", "value": "99"}, {"name": "LAST", "value": "z"}]
    node = replicated("node", {"name": "node", "image": "i", "env": given}, step="trainer")
    found = env(render({"torch": {}}, {"numNodes": 2, "env": [{"name": "MINE", "value": "m"}]}, node))
    assert list(found)[:4] == ["FIRST", "PET_NNODES", "LAST", "MINE"]
    assert found["PET_NNODES"] == "2"


def test_a_port_of_the_template_is_never_replaced():
    node = replicated("node", {"name": "node", "image": "i", "ports": [{"containerPort": 8080}]}, step="trainer")
    ports = container(render({"torch": {}}, {}, node))["ports"]
    assert [port["containerPort"] for port in ports] == [8080, 29500]


def test_env_injection_reaches_init_containers_and_other_jobs():
    node = replicated("node", {"name": "node", "image": "i"}, step="trainer")
    node["template"]["spec"]["template"]["spec"]["initContainers"] = [{"name": "check", "image": "c"}]
    side = replicated("side", {"name": "watch", "image": "w"})
    targets = [
        {"jobName": "node", "containerNames": ["check"]},
        {"jobName": "side", "containerNames": ["watch"]},
    ]
    plan = render({"numNodes": 2, "torch": {"envInjection": {"targets": targets}}}, {}, node, side)
    assert env(plan, kind="initContainers") == env(plan) == env(plan, "side")
    assert job(plan, "side")["template"]["spec"]["parallelism"] == 1
    assert "ports" not in container(plan, "side")


def test_env_injection_into_nowhere_is_refused_with_the_nearest_name():
    targets = [
        {"jobName": "node", "containerNames": ["nodes"]},
        {"jobName": "ghost", "containerNames": ["a"]},
    ]
    found = list(problems(runtime({"torch": {"envInjection": {"targets": targets}}})))
    assert [problem.field for problem in found] == ["spec.runtimeRef", "spec.runtimeRef"]
    assert "did you mean node?" in str(found[0])
    assert "ghost" in str(found[1])


def test_every_variable_says_where_it_was_read():
    runtime_given = runtime({"torch": {"numProcPerNode": "cpu"}})
    _, chains = build_with_blame(trainjob({"numNodes": 2}), runtime_given)

    def source(name: str) -> Source:
        path = ("JobSet", "job", "spec", "replicatedJobs", "node", "template", "spec", "template", "spec")
        return chains[(*path, "containers", "node", "env", name, "value")][-1].source

    assert source("PET_NNODES") == Source("job", ("spec", "trainer", "numNodes"))
    assert source("PET_NPROC_PER_NODE").path == ("spec", "mlPolicy", "torch", "numProcPerNode")
    assert source("PET_MASTER_ADDR").note == "the first pod of the job node"
