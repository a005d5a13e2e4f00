"""A few words become a TrainJob that its runtime can run, or a sentence that says why it cannot."""

from importlib.resources import files

import pytest

from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.sdk.job import Asked, Unfit, elastic_runtime, launch_words, name_of, own_runtime, train_job
from trainplane.sdk.source import MOUNT, Archive, configmap, with_ranks

CODE = Archive(b"packed", 1, 6)


def runtime(name: str) -> Raw:
    """A runtime that comes with Trainplane."""
    text = files("trainplane").joinpath("runtimes", f"{name}.yaml").read_bytes()
    raw: Raw = parse(text).documents[0].value
    return raw


def containers(of: Raw, job: str) -> list[Raw]:
    """The containers of a replicated job of a runtime."""
    jobs = {each["name"]: each for each in of["spec"]["template"]["spec"]["replicatedJobs"]}
    found: list[Raw] = jobs[job]["template"]["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("train.py", "train-ab12"),
        ("code/My Model_v2.py", "my-model-v2-ab12"),
        ("run.sh", "run-sh-ab12"),
        ("--.py", "run-ab12"),
        ("übung.py", "bung-ab12"),
        ("a" * 29 + "-b.py", "a" * 29 + "-ab12"),
    ],
)
def test_a_run_is_called_as_its_script_is(script: str, name: str) -> None:
    assert name_of(script, "ab12") == name


@pytest.mark.parametrize(
    ("on", "script", "words"),
    [
        ("torch-distributed", "train.py", ("torchrun", "train.py", "--lr", "1")),
        ("torch-elastic", "train.py", ("torchrun", "train.py", "--lr", "1")),
        ("plain", "train.py", ("python3", "train.py", "--lr", "1")),
        ("torch-distributed", "start.sh", ("./start.sh", "--lr", "1")),
    ],
)
def test_a_script_is_started_in_the_way_of_its_runtime(on: str, script: str, words: tuple[str, ...]) -> None:
    assert launch_words(runtime(on), script, ("--lr", "1")) == words


def test_what_was_asked_for_is_in_the_job_and_nothing_else() -> None:
    asked = Asked("digits", ("python", "a.py"), nodes=2, processes=3, gpus=1, memory="4Gi", env={"A": "1"})
    job = train_job(asked, runtime("plain"), CODE)
    trainer = job["spec"]["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (2, 3)
    assert trainer["resourcesPerNode"]["requests"] == {"memory": "4Gi", "nvidia.com/gpu": "1"}
    assert trainer["resourcesPerNode"]["limits"] == trainer["resourcesPerNode"]["requests"]
    assert {"name": "A", "value": "1"} in trainer["env"]
    assert trainer["command"][-2:] == ["python", "a.py"]
    plain = train_job(Asked("digits", ("a",)), runtime("plain"), None)["spec"]
    assert plain["runtimeRef"] == {"name": "plain", "kind": "ClusterTrainingRuntime"}
    assert plain["trainer"]["command"] == ["a"]
    assert not plain.keys() & {"runtimePatches"}
    assert not plain["trainer"].keys() & {"numNodes", "numProcPerNode", "resourcesPerNode", "image"}


def test_the_code_is_mounted_where_the_trainer_unpacks_it() -> None:
    (patch,) = train_job(Asked("digits", ("a",)), runtime("torch-distributed"), CODE)["spec"]["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]
    assert job["name"] == "node"
    assert pod["volumes"][0]["configMap"] == {"name": CODE.name}
    assert pod["containers"] == [
        {"name": "node", "volumeMounts": [{"name": pod["volumes"][0]["name"], "mountPath": MOUNT, "readOnly": True}]}
    ]


def test_a_variable_of_the_user_goes_before_ours() -> None:
    job = train_job(Asked("digits", ("a",), env={"PYTHONUNBUFFERED": ""}), runtime("torch-distributed"), None)
    values = [each["value"] for each in job["spec"]["trainer"]["env"] if each["name"] == "PYTHONUNBUFFERED"]
    assert values == [""]


@pytest.mark.parametrize(
    ("processes", "elastic", "says"), [(0, None, True), (2, None, True), (1, None, False), (1, (1, 2), True)]
)
def test_torchrun_says_whose_a_line_is_where_the_node_does_not(
    processes: int, elastic: tuple[int, int] | None, says: bool
) -> None:
    asked = Asked("digits", ("a",), processes=processes, elastic=elastic)
    env = train_job(asked, runtime("torch-distributed"), None)["spec"]["trainer"]["env"]
    assert any(each["name"] == "PET_TEE" for each in env) is says
    assert {"name": "PYTHONUNBUFFERED", "value": "1"} in env


@pytest.mark.parametrize("name", ["deepspeed-distributed", "mlx-distributed"])
def test_where_mpirun_starts_the_program_its_workers_have_the_code_too(name: str) -> None:
    code = with_ranks(CODE)
    assert code.name != CODE.name, "what lies beside the archive is part of what its name stands for"
    assert configmap(code, namespace="default")["data"].keys() == {"ranks.py"}
    spec = train_job(Asked("digits", ("python", "a.py"), nodes=2, env={"A": "1"}), runtime(name), code)["spec"]
    assert spec["trainer"]["command"][:3] == ["python3", f"{MOUNT}/ranks.py", "launch"]
    assert "A" in spec["trainer"]["command"][3].split(",")
    assert spec["trainer"]["command"][4:] == ["python", "a.py"]
    (patch,) = spec["runtimePatches"]
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert sorted(job["name"] for job in jobs) == ["launcher", "node"]
    for job in jobs:
        pod = job["template"]["spec"]["template"]["spec"]
        assert pod["volumes"][0]["configMap"] == {"name": code.name}
        assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == MOUNT


def test_an_image_that_is_asked_for_is_that_of_mpirun_s_workers_too() -> None:
    own = own_runtime(runtime("deepspeed-distributed"), Asked("digits", ("a",), image="mine/mpi"))
    assert own is not None
    (worker,) = containers(own, "node")
    assert worker["image"] == "mine/mpi"
    assert own_runtime(runtime("deepspeed-distributed"), Asked("digits", ("a",), gpus=1)) is None


def test_what_nodes_ask_for_is_asked_by_the_workers_where_the_launcher_only_waits() -> None:
    on, asked = runtime("deepspeed-distributed"), Asked("digits", ("a",), gpus=1)
    on["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = False
    own = own_runtime(on, asked)
    assert own is not None
    assert containers(own, "node")[0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "resourcesPerNode" not in train_job(asked, own, CODE)["spec"]["trainer"]


def test_mpirun_needs_a_launcher() -> None:
    on = runtime("deepspeed-distributed")
    on["spec"]["template"]["spec"]["replicatedJobs"] = on["spec"]["template"]["spec"]["replicatedJobs"][:1]
    with pytest.raises(Unfit, match="starts programs with mpirun, and has no job called launcher"):
        train_job(Asked("digits", ("a",)), on, with_ranks(CODE))


def test_a_runtime_that_does_not_say_what_trains_is_unfit() -> None:
    on = runtime("plain")
    on["spec"]["template"]["spec"]["replicatedJobs"] = []
    with pytest.raises(Unfit, match="runtime plain does not say which container runs the trainer"):
        train_job(Asked("digits", ("a",)), on, CODE)


def test_an_elastic_job_has_a_runtime_of_its_own_with_its_bounds() -> None:
    asked = Asked("digits", ("a",), elastic=(2, 6), namespace="team")
    own = elastic_runtime(runtime("torch-distributed"), asked)
    assert (own["kind"], own["metadata"]["name"], own["metadata"]["namespace"]) == ("TrainingRuntime", "digits", "team")
    policy = own["spec"]["mlPolicy"]
    assert policy["torch"]["elasticPolicy"] == {"minNodes": 2, "maxNodes": 6, "maxRestarts": 3}
    assert "numNodes" not in policy
    job = train_job(asked, own, None)
    assert job["spec"]["runtimeRef"] == {"name": "digits", "kind": "TrainingRuntime"}


def test_restarts_stay_as_the_runtime_says_and_the_runtime_stays_as_it_is() -> None:
    on = runtime("torch-elastic")
    on["spec"]["mlPolicy"]["torch"]["elasticPolicy"]["maxRestarts"] = 9
    own = elastic_runtime(on, Asked("digits", ("a",), elastic=(1, 2)))
    assert own["spec"]["mlPolicy"]["torch"]["elasticPolicy"]["maxRestarts"] == 9
    assert on["spec"]["mlPolicy"]["torch"]["elasticPolicy"]["maxNodes"] == 4
    assert on["spec"]["mlPolicy"]["numNodes"] == 2


def test_only_torch_can_change_its_size() -> None:
    with pytest.raises(Unfit, match="runtime plain is not for torch: only torch jobs can change their size"):
        elastic_runtime(runtime("plain"), Asked("digits", ("a",), elastic=(1, 2)))
