"""JAX, XGBoost and every MPI, on two nodes: the numbers are right, and every rank was where it should be."""

import json
from pathlib import Path
from shutil import which

import pytest

from tests.frameworks.conftest import PATIENCE, PROGRAMS, Lab, result

MPIS = {
    "openmpi": ("OpenMPI", "Open MPI v5"),
    "mpi4py": ("OpenMPI", "Open MPI v4"),
    "mpich": ("MPICH", "MPICH"),
    "intel-mpi": ("Intel", "Intel(R) MPI"),
}
"""By environment: the implementation, and what its library says of itself. The one without an MPI uses the system's."""
SYSTEM = "mpi4py"
RUNTIME = Path(__file__).with_name("mpi.yaml")
STAGES = Path(__file__).with_name("stages.yaml")
needs_sshd = pytest.mark.skipif(
    which("sshd", path="/usr/sbin") is None, reason="needs sshd: install Debian's openssh-server"
)


@pytest.fixture(scope="module")
def others(lab: Lab) -> Lab:
    lab.up("jax", "xgboost", "torch", *MPIS)
    return lab


def test_jax_adds_up_what_is_on_two_nodes(others: Lab) -> None:
    words = ("--runtime", "jax-distributed", "--nodes", "2", "--image", "jax/test")
    assert others.run(*words, str(PROGRAMS / "jax_sum.py")) == {"processes": 2, "devices": 2, "total": 28.0}


def test_xgboost_comes_to_the_same_trees_on_both_nodes(others: Lab) -> None:
    words = ("--runtime", "xgboost-distributed", "--nodes", "2", "--image", "xgboost/test")
    said = others.run(*words, str(PROGRAMS / "boost.py"))
    assert (said["world"], said["same"]) == (2, True)
    assert said["error"] < 0.1


def make_runtime(lab: Lab, name: str) -> None:
    """Let the cluster have the runtime of an MPI; skips the test where that MPI is not here."""
    if name == SYSTEM and which("mpirun", path="/usr/bin") is None:
        pytest.skip("needs Open MPI 4: install Debian's openmpi-bin")
    runtime = lab.clusters.home / f"{name}.yaml"
    text = RUNTIME.read_text(encoding="utf-8").replace("$NAME", name).replace("$IMPLEMENTATION", MPIS[name][0])
    runtime.write_text(text, encoding="utf-8")
    lab.clusters.kubectl("apply", "-f", str(runtime))


def lines(text: str) -> set[str]:
    """The lines of a job's output, whatever the width of who wrote them: mpirun itself may have something to say."""
    return {" ".join(line.split()) for line in text.splitlines()}


@needs_sshd
@pytest.mark.parametrize("name", MPIS)
def test_mpirun_reaches_its_workers_over_ssh(others: Lab, name: str) -> None:
    make_runtime(others, name)
    library = MPIS[name][1]
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": f"sum-{name}"},
        "spec": {
            "runtimeRef": {"name": name},
            "trainer": {
                "command": ["mpirun", "-n", "4", *_passed_on(name), "python", "-c"],
                "args": [(PROGRAMS / "mpi_sum.py").read_text(encoding="utf-8")],
            },
        },
    }
    document = others.clusters.home / f"job-{name}.yaml"
    document.write_text(json.dumps(job), encoding="utf-8")
    said = others.run("-f", str(document))
    workers = [f"sum-{name}-node-0-{index}" for index in (0, 0, 1, 1)]
    assert (said["world"], said["total"], said["hosts"]) == (4, 10.0, workers)
    assert said["library"].startswith(library)
    logs = (others.clusters.folder() / "node" / "logs").glob(f"default_{workers[0]}-*/node/0.log")
    shown = "".join(log.read_text(encoding="utf-8") for log in logs)
    # The public key beside the host key is the job's too, and not that of the machine.
    assert "Server listening" in shown
    assert "does not match" not in shown


@needs_sshd
@pytest.mark.parametrize("name", MPIS)
def test_a_script_is_shipped_to_every_node_and_run_by_mpirun(others: Lab, name: str) -> None:
    make_runtime(others, name)
    library = ("-e", "MPI4PY_LIBMPI=libmpi.so.40") if name == SYSTEM else ()
    words = ("--runtime", name, "--nodes", "2", "--nproc", "2", "--job-name", f"ships-{name}", *library)
    done = others.clusters.run("run", *words, str(PROGRAMS / "mpi_sum.py"), "--lr", "1", patience=PATIENCE)
    assert {f"rank {rank} | begins with --lr 1" for rank in range(4)} <= lines(done.stdout)
    shown = others.clusters.run("logs", f"ships-{name}", "--rank", "3").stdout
    assert shown == "rank 3 | begins with --lr 1\n"
    said = result(done.stdout)
    workers = [f"ships-{name}-node-0-{index}" for index in (0, 0, 1, 1)]
    assert (said["world"], said["total"], said["hosts"]) == (4, 10.0, workers)
    assert said["library"].startswith(MPIS[name][1])


FAILING = """\
import os, time
if os.environ["RANK"] == "2":
    open(os.path.join(os.environ["TRAINPLANE_OUTPUT"], "was-here"), "w").close()
    raise ValueError(os.environ["WORD"])
time.sleep(600)
"""


@needs_sshd
@pytest.mark.parametrize("name", ["mpi4py", "mpich"])
def test_the_rank_that_fails_under_mpirun_is_named_and_ends_the_job_with_its_code(others: Lab, name: str) -> None:
    make_runtime(others, name)
    script = others.clusters.home / name / "fails.py"
    script.parent.mkdir()
    script.write_text(FAILING, encoding="utf-8")
    words = ("--runtime", name, "--nodes", "2", "--nproc", "2", "--job-name", f"fails-{name}", "-e", "WORD=alone")
    done = others.clusters.run("run", *words, str(script), code=1)
    assert "rank 2 | ValueError: alone" in lines(done.stdout)
    assert f"fails-{name} failed: rank 2 (pod fails-{name}-launcher-0-0-" in done.stderr
    assert "failed first: user exception, exit code 1" in done.stderr
    assert (others.clusters.folder() / "jobs" / "default" / f"fails-{name}" / "output" / "was-here").exists()


@needs_sshd
def test_the_built_in_runtime_trains_with_deepspeed_over_mpirun(others: Lab) -> None:
    if which("mpirun", path="/usr/bin") is None:
        pytest.skip("needs Open MPI 4: install Debian's openmpi-bin")
    words = ("--runtime", "deepspeed-distributed", "--image", "torch/test", "--nodes", "2", "--nproc", "2")
    said = others.run(*words, str(PROGRAMS / "zero.py"))
    assert said["world"] == 4
    assert said["last"] < said["first"] / 2


def _passed_on(name: str) -> list[str]:
    """What tells mpi4py which library is the system's."""
    return ["-x", "MPI4PY_LIBMPI=libmpi.so.40"] if name == SYSTEM else []


def test_a_stage_that_writes_the_data_comes_before_the_training(others: Lab) -> None:
    done = others.clusters.run("run", "-f", str(STAGES))
    lines = [line.partition("| ")[2] for line in done.stdout.splitlines()]
    assert lines == ["wrote 1000 numbers", "rank 0 read 499500", "rank 1 read 499500"] or lines == [
        "wrote 1000 numbers",
        "rank 1 read 499500",
        "rank 0 read 499500",
    ]
