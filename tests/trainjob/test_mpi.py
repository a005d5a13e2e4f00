"""MPI: hostfiles, slots, keys and variables for each mpirun; who waits for whom; and what cannot reach its workers."""

import pytest

from tests.trainjob.worlds import companion, container, env, job, pod, render, replicated, rule_ids
from trainplane.trainjob.frameworks.launcher import sshd_port
from trainplane.trainjob.pipeline import Refused

SSHD = ["/usr/sbin/sshd", "-De"]


def node(**rest):
    return replicated("node", {"name": "node", "image": "sshd:1", "command": SSHD}, **rest)


def launcher(**rest):
    return replicated("launcher", {"name": "node", "image": "mpi:1", "command": ["mpirun", "hello"]}, **rest)


def labelled(policy, trainer=None, **spec):
    """A runtime in Kubeflow Trainer's own shape."""
    return render({"mpi": policy}, trainer, node(), launcher(step="trainer"), **spec)


def document(policy, trainer=None, *, first="launcher", worker=None, **spec):
    """A runtime as the OME document writes it: no labels, other names, the launcher first."""
    jobs = [
        replicated("launcher", {"name": "mpi-launcher", "image": "i", "command": ["mpirun", "python", "train.py"]}),
        worker or replicated("worker", {"name": "mpi-worker", "image": "i", "command": ["/usr/sbin/sshd", "-D"]}),
    ]
    return render(policy, trainer, *(jobs if first == "launcher" else reversed(jobs)), **spec)


def hostfile(plan):
    return companion(plan, "ConfigMap")["data"]["hostfile"].splitlines()


def mounts(plan, name):
    return {mount["mountPath"]: mount["name"] for mount in container(plan, name).get("volumeMounts", [])}


def test_open_mpi_of_both_generations_finds_its_hostfile():
    found = env(labelled({}, {"numNodes": 2}), "launcher")
    assert found["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
    assert found["OMPI_MCA_orte_set_default_slots"] == "1"
    assert found["OMPI_MCA_orte_keep_fqdn_hostnames"] == "true"
    assert found["OMPI_MCA_plm_rsh_args"] == "-o ConnectionAttempts=10"
    assert found["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert found["PRTE_MCA_plm_ssh_args"] == "-o ConnectionAttempts=10"


@pytest.mark.parametrize(
    ("flavour", "line", "variables"),
    [
        ("OpenMPI", "job-node-0-0.job slots=2", {"OMPI_MCA_orte_set_default_slots": "2"}),
        (
            "Intel",
            "job-node-0-0.job:2",
            {
                "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile",
                "I_MPI_HYDRA_BOOTSTRAP": "ssh",
                "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
                "I_MPI_PERHOST": "2",
            },
        ),
        (
            "MPICH",
            "job-node-0-0.job:2",
            {
                "HYDRA_HOST_FILE": "/etc/mpi/hostfile",
                "HYDRA_LAUNCHER": "ssh",
                "HYDRA_LAUNCHER_EXTRA_ARGS": "-o ConnectionAttempts=10",
            },
        ),
    ],
)
def test_each_implementation_has_its_hostfile_and_variables(flavour, line, variables):
    plan = labelled({"mpiImplementation": flavour, "numProcPerNode": 2}, {"numNodes": 3})
    assert hostfile(plan)[0] == line
    assert len(hostfile(plan)) == 3
    found = env(plan, "launcher")
    assert {name: found.get(name) for name in variables} == variables
    assert any(name.startswith("OMPI_") for name in found) is (flavour == "OpenMPI")
    assert ("/etc/mpi" in mounts(plan, "node")) is (flavour != "OpenMPI")
    assert (plan.size.nodes, plan.size.world) == (3, 6)


def test_hosts_are_those_of_every_replica_and_the_subdomain():
    plan = render(
        {"mpi": {}}, {"numNodes": 2}, node(replicas=2), launcher(step="trainer"), network={"subdomain": "ring"}
    )
    assert [line.split()[0] for line in hostfile(plan)] == [
        "job-node-0-0.ring",
        "job-node-0-1.ring",
        "job-node-1-0.ring",
        "job-node-1-1.ring",
    ]
    assert plan.size.nodes == 4


@pytest.mark.parametrize(("nodes", "workers"), [(4, 3), (1, 1)])
def test_a_launcher_that_trains_is_a_host(nodes, workers):
    plan = labelled({"runLauncherAsNode": True}, {"numNodes": nodes})
    assert job(plan)["template"]["spec"]["parallelism"] == workers
    assert hostfile(plan)[-1] == "job-launcher-0-0.job slots=1"
    assert plan.size.nodes == len(hostfile(plan)) == workers + 1


@pytest.mark.parametrize(
    ("policy", "trainer", "worker", "slots"),
    [
        pytest.param({"numProcPerNode": 2}, {"numProcPerNode": 8}, {}, 8, id="the TrainJob's"),
        pytest.param({}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}, {}, 4, id="GPUs where it says 1"),
        pytest.param({}, {}, {"limits": {"nvidia.com/gpu": 2}}, 2, id="GPUs of the workers"),
        pytest.param({"numProcPerNode": 3}, {}, {"limits": {"nvidia.com/gpu": 2}}, 3, id="the runtime's"),
        pytest.param({}, {}, {"limits": {"nvidia.com/gpu": 1}}, 1, id="one GPU"),
    ],
)
def test_slots(policy, trainer, worker, slots):
    workers = replicated("node", {"name": "node", "image": "i", "command": SSHD, "resources": worker})
    plan = render({"mpi": policy}, trainer, workers, launcher(step="trainer"))
    assert hostfile(plan) == [f"job-node-0-0.job slots={slots}"]
    assert plan.size.procs == str(slots)


def test_keys_are_mounted_where_ssh_and_sshd_look_for_them():
    plan = labelled({"sshAuthMountPath": "/home/u/.ssh"}, {"numNodes": 2})
    assert mounts(plan, "launcher") == {"/home/u/.ssh": "mpi-ssh-auth", "/etc/mpi": "mpi-hostfile"}
    assert mounts(plan, "node") == {
        "/home/u/.ssh": "mpi-ssh-auth",
        "/etc/ssh/ssh_host_ed25519_key": "mpi-ssh-host",
        "/etc/ssh/ssh_host_ed25519_key.pub": "mpi-ssh-host",
    }
    keys = next(volume for volume in pod(plan)["volumes"] if volume["name"] == "mpi-ssh-auth")["secret"]
    assert keys["secretName"] == "job-mpi-ssh-auth"
    files = {item["path"]: (item["key"], oct(item["mode"])) for item in keys["items"]}
    assert files == {
        "id_rsa": ("ssh-privatekey", "0o600"),
        "id_rsa.pub": ("ssh-publickey", "0o644"),
        "authorized_keys": ("ssh-publickey", "0o644"),
        "known_hosts": ("known_hosts", "0o644"),
    }


def test_the_secret_holds_nothing_yet():
    secret = companion(labelled({}), "Secret")
    assert secret["metadata"]["name"] == "job-mpi-ssh-auth"
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert secret["immutable"] is True
    assert "data" not in secret


def test_what_the_template_mounts_in_etc_ssh_stays():
    own = [{"name": "conf", "mountPath": "/etc/ssh"}]
    workers = replicated("node", {"name": "node", "image": "i", "command": SSHD, "volumeMounts": own})
    plan = render({"mpi": {}}, {}, workers, launcher(step="trainer"))
    assert mounts(plan, "node") == {"/etc/ssh": "conf", "/root/.ssh": "mpi-ssh-auth"}


@pytest.mark.parametrize(("path", "allowed"), [("/root/.ssh", True), ("/home/mpiuser/.ssh", False)])
def test_mpirun_may_run_as_root_where_the_keys_are_roots(path, allowed):
    found = env(labelled({"sshAuthMountPath": path}), "launcher")
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in found and "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM" in found) is allowed


def test_variables_of_the_trainjob_stand_behind_and_win():
    given = [{"name": "A", "value": "1"}, {"name": "PRTE_MCA_plm_ssh_args", "value": "-q"}]
    found = env(labelled({}, {"env": given}), "launcher")
    assert list(found)[-1] == "A"
    assert found["PRTE_MCA_plm_ssh_args"] == "-q"


def test_a_runtime_in_upstreams_shape_keeps_its_order():
    plan = labelled({}, {"numNodes": 2})
    assert "dependsOn" not in job(plan, "launcher")
    assert "successPolicy" not in plan.jobset["spec"]
    assert rule_ids(plan) == []


def test_the_documents_launcher_waits_for_workers_that_answer_and_ends_the_job():
    plan = document({"numNodes": 4, "mpi": {"numProcPerNode": 4}})
    assert [one["name"] for one in plan.replicated_jobs] == ["worker", "launcher"]
    assert job(plan, "launcher")["dependsOn"] == [{"name": "worker", "status": "Ready"}]
    assert container(plan, "worker")["readinessProbe"]["tcpSocket"] == {"port": 22}
    assert plan.jobset["spec"]["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    assert hostfile(plan)[0] == "job-worker-0-0.job slots=4"
    assert "OMPI_MCA_orte_default_hostfile" in env(plan, "launcher")
    assert env(plan, "worker") == {}
    assert rule_ids(plan) == ["TP121", "TP122"]
    assert "moved" in str(plan.problems[0])
    assert plan.roles.launcher.index == 1


def test_what_the_author_says_of_order_and_success_stays():
    waiting = replicated("launcher", {"name": "l", "image": "i"}, dependsOn=[{"name": "worker", "status": "Complete"}])
    worker = replicated("worker", {"name": "w", "image": "i", "command": SSHD, "readinessProbe": {"exec": {}}})
    success = {"operator": "Any", "targetReplicatedJobs": ["worker"]}
    plan = render({"mpi": {}}, None, worker, waiting, successPolicy=success)
    assert job(plan, "launcher")["dependsOn"] == [{"name": "worker", "status": "Complete"}]
    assert plan.jobset["spec"]["successPolicy"] == success
    plan = document({"mpi": {}}, startupPolicy={"startupPolicyOrder": "InOrder"})
    assert [one["name"] for one in plan.replicated_jobs] == ["launcher", "worker"]
    assert "dependsOn" not in job(plan, "launcher")


def test_a_launcher_that_others_wait_for_is_not_moved_behind_them():
    early = replicated("early", {"name": "e", "image": "i"}, dependsOn=[{"name": "launcher", "status": "Complete"}])
    first = replicated("launcher", {"name": "l", "image": "i"})
    worker = replicated("worker", {"name": "w", "image": "i", "command": SSHD})
    plan = render({"mpi": {}}, None, first, early, worker)
    assert [one["name"] for one in plan.replicated_jobs] == ["launcher", "early", "worker"]
    assert "dependsOn" not in job(plan, "launcher")


@pytest.mark.parametrize(
    ("words", "port"),
    [
        (["/usr/sbin/sshd", "-D"], 22),
        (["/usr/sbin/sshd", "-De", "-p", "2222"], 2222),
        (["sshd", "-Dp2022"], 2022),
        (["sshd", "-o", "Port=2200", "-D"], 2200),
        (["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"], None),
        (["sshd", "-f", "conf", "-p", "23"], 23),
        (["sh", "-c", "mkdir -p /run/sshd; exec /usr/sbin/sshd -D -p 2222"], 2222),
        (["sh", "-c", "it's broken sshd"], None),
        (["sleep", "1"], None),
        ([], None),
    ],
)
def test_the_port_of_sshd_is_read_from_its_command(words, port):
    assert sshd_port(words) == port


def intel(trainer):
    """The OME document's Intel example: workers that each run mpirun."""
    worker = {"name": "intel", "image": "i", "command": ["mpirun"], "args": ["-n", "16", "python", "train.py"]}
    policy = {"mpi": {"numProcPerNode": 2, "mpiImplementation": "Intel"}}
    return render(policy, trainer, replicated("worker", worker))


def test_workers_alone_run_on_one_node():
    plan = intel({"numNodes": 1})
    assert env(plan, "worker")["I_MPI_HYDRA_HOST_FILE"] == "/etc/mpi/hostfile"
    assert hostfile(plan) == ["job-worker-0-0.job:2"]


def test_workers_alone_on_several_nodes_are_refused_with_the_remedy():
    with pytest.raises(Refused) as refused:
        intel({"numNodes": 8})
    (problem,) = refused.value.problems
    assert problem.field == "spec.trainer.numNodes"
    assert "launcher" in problem.todo
