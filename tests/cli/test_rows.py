"""What tables say of jobs, nodes, queues, runtimes, pods, events and of those that have ended."""

from datetime import datetime, timedelta
from textwrap import dedent
from typing import Any

import pytest

from tests.gang.worlds import T0, node, pod, queue, stamp
from trainplane.cli.event_rows import about, event_table
from trainplane.cli.holding import bar, by_job, by_node, together, top_table
from trainplane.cli.job_rows import figure, history_table, hours, job_table
from trainplane.cli.outlook import Outlook, outlook
from trainplane.cli.rows import node_table, pod_table, queue_table, runtime_table
from trainplane.cli.tables import Table, lines
from trainplane.gang.forecast import Start
from trainplane.reconcile.view import View

Raw = dict[str, Any]
MINUTE = timedelta(minutes=1)
NOBODY = Outlook({}, {}, T0)


def text(table: Table, *, wide: bool = False) -> str:
    return "\n".join(lines(table.narrowed(wide=wide)))


def shown(page: str) -> str:
    return dedent(page).strip("\n")


def job(name: str, state: str = "", *, made: datetime = T0 - 10 * MINUTE, nodes: int = 2, **more: Any) -> Raw:
    summary = {"state": state, "reason": "Reason", "message": f"{name} says so"} if state else {}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}", "creationTimestamp": stamp(made)},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": nodes}, **more.get("spec", {})},
        "status": {"summary": summary, **more.get("status", {})},
    }


def of(name: str, *pods: Raw) -> list[Raw]:
    labels = {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": "node"}
    return [{**one, "metadata": {**one["metadata"], "labels": labels}} for one in pods]


def running(name: str, *, on: str, cpu: int = 3, since: datetime = T0 - MINUTE, **more: Any) -> Raw:
    return pod(name, cpu, on=on, status={"phase": "Running", "startTime": stamp(since)}, **more)


def record(name: str, *, ran: int, ended: datetime = T0, **spec: Any) -> Raw:
    return {
        "apiVersion": "trainplane.dev/v1alpha1",
        "kind": "TrainJobRecord",
        "metadata": {"name": f"{name}-1", "namespace": "ml"},
        "spec": {
            "trainJob": {"name": name, "uid": f"uid-{name}"},
            "outcome": "Complete",
            "runtime": {"name": "torch", "kind": "ClusterTrainingRuntime"},
            "nodes": 2,
            "completionTime": stamp(ended),
            "runSeconds": ran,
            **spec,
        },
    }


def test_jobs_that_run_come_first_then_those_that_wait_in_the_order_of_their_turn() -> None:
    world = [
        node("a", 4),
        *(
            jobs := [
                job("over", "Complete"),
                job("late", "Pending", made=T0 - MINUTE),
                job("early", "Pending", made=T0 - 5 * MINUTE),
                job("busy", "Running", status={"trainerStatus": {"progressPercentage": 40}}),
                job("kept", "Suspended"),
                job("new"),
            ]
        ),
        *of("busy", running("busy-0", on="a")),
        *of("late", pod("late-0", 4, made=T0 - MINUTE)),
        *of("early", pod("early-0", 4, made=T0 - 5 * MINUTE)),
        record("before", ran=600),
    ]
    table = job_table(jobs, outlook(world, T0), T0)
    assert text(table) == shown("""
        NAME   STATE        NODES  RUNTIME  QUEUE  STARTS  AGE
        busy   Running,40%  2      torch    -      -       10m
        early  Pending      2      torch    1/2    9m      5m
        late   Pending      2      torch    2/2    19m     60s
        new    Created      2      torch    -      -       10m
        kept   Suspended    2      torch    -      -       10m
        over   Complete     2      torch    -      -       10m
    """)


def test_wide_jobs_say_why_and_those_of_all_namespaces_where() -> None:
    table = job_table([job("a", "Failed")], NOBODY, T0, namespaces=True)
    assert text(table, wide=True) == shown("""
        NAMESPACE  NAME  STATE   NODES  RUNTIME  QUEUE  STARTS  AGE  RESTARTS  REASON  MESSAGE
        ml         a     Failed  2      torch    -      -       10m  0         Reason  a says so
    """)


def test_a_job_without_a_summary_is_known_by_its_conditions() -> None:
    """As on a cluster whose Trainer is upstream's."""
    done = [{"type": "Complete", "status": "True", "message": "jobset completed successfully"}]
    table = job_table([job("a", status={"conditions": done, "summary": {}})], NOBODY, T0)
    assert table.rows[0][1] == "Complete"
    assert table.rows[0][-1] == "jobset completed successfully"


@pytest.mark.parametrize(
    ("node", "state"), [({}, "Starting"), ({"active": 1}, "Starting"), ({"active": 1, "ready": 1}, "Running")]
)
def test_a_job_without_a_summary_runs_when_its_trainer_is_ready(node: Raw, state: str) -> None:
    counts = [{"name": "dataset-initializer", "active": 1, "ready": 1}, {"name": "node", **node}]
    assert job_table([job("a", status={"jobsStatus": counts})], NOBODY, T0).rows[0][1] == state


@pytest.mark.parametrize(
    ("more", "pod_spec", "labels", "starts", "judged"),
    [
        pytest.param({}, {}, {}, None, (), id="nothing is known"),
        pytest.param({}, {"activeDeadlineSeconds": 300}, {}, 4, ("deadlines",), id="a pod's deadline"),
        pytest.param(
            {"spec": {"activeDeadlineSeconds": 1200}},
            {},
            {},
            10,
            ("deadlines",),
            id="a job's deadline, from its creation",
        ),
        pytest.param(
            {
                "status": {
                    "trainerStatus": {"estimatedRemainingSeconds": 240, "lastUpdatedTime": stamp(T0 - MINUTE)},
                }
            },
            {"activeDeadlineSeconds": 300},
            {},
            3,
            ("the trainers' own estimates",),
            id="the trainer knows best",
        ),
        pytest.param(
            {}, {}, {"simulate.trainplane.dev/node": "true"}, 0, ("the lengths of simulated pods",), id="a simulation"
        ),
    ],
)
def test_a_start_is_judged_by_the_best_that_is_known(
    more: Raw, pod_spec: Raw, labels: Raw, starts: int | None, judged: tuple[str, ...]
) -> None:
    waits = job("next", "Pending")
    world = [
        node("a", 4, labels=labels),
        job("busy", "Running", **more),
        waits,
        *of("busy", running("busy-0", on="a", spec=pod_spec)),
        *of("next", pod("next-0", 4)),
    ]
    found = outlook(world, T0).start(waits)
    assert found == (None if starts is None else Start(T0 + starts * MINUTE, judged))


def test_past_runs_of_the_same_size_count_and_shorter_ones_than_this_do_not() -> None:
    waits = job("next", "Pending")
    world = [
        node("a", 4),
        job("busy", "Running"),
        waits,
        *of("busy", running("busy-0", on="a", since=T0 - 20 * MINUTE)),
        *of("next", pod("next-0", 4)),
        record("quick", ran=60),
        record("like-it", ran=1800),
        record("longer", ran=2400),
        record("other-size", ran=9999, nodes=8),
        record("broken", ran=5000, outcome="Failed"),
    ]
    found = outlook(world, T0).start(waits)
    assert found == Start(T0 + 15 * MINUTE, ("past runs on torch",)), (
        "half an hour or forty minutes, and twenty are over"
    )


def test_nodes_say_what_is_held_of_what_there_is() -> None:
    nodes = [
        node(
            "b",
            8,
            **{"nvidia.com/gpu": 4},
            spec={"unschedulable": True, "taints": [{"key": "t", "effect": "NoSchedule"}]},
        ),
        node("a", 4),
    ]
    nodes[1]["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    world = [*nodes, *of("digits", running("digits-0", on="b"))]
    assert text(node_table(nodes, View(world), T0), wide=True) == shown("""
        NAME  STATUS                      CPU  MEMORY    GPU  PODS   AGE        JOBS    TAINTS
        a     Ready                       0/4  0/32Gi    -    0/110  <unknown>  -       -
        b     Unknown,SchedulingDisabled  3/8  1Gi/32Gi  0/4  1/110  <unknown>  digits  t:NoSchedule
    """)


def test_queues_say_who_waits_and_who_holds_what() -> None:
    mine = {"scheduling.volcano.sh/queue-name": "research"}
    world = [
        node("a", 4),
        queue("research", 3, capability={"cpu": 8}),
        *of("busy", running("busy-0", on="a", annotations=mine)),
        *of("next", pod("next-0", 4, annotations=mine)),
    ]
    table = queue_table([world[1]], View(world), outlook(world, T0), T0)
    assert text(table, wide=True) == shown("""
        NAME      WEIGHT  STATE  WAITING  RUNNING  CPU  MEMORY  GPU  AGE  LIMITS
        default   1       Open   0        0        0    0       0    -    -
        research  3       Open   1        1        3    1Gi     0    -    cpu 8
    """)


def test_runtimes_say_how_many_jobs_are_on_them() -> None:
    def runtime(name: str, kind: str, **labels: str) -> Raw:
        metadata = {"name": name, "labels": labels, "creationTimestamp": stamp(T0 - MINUTE)}
        if kind == "TrainingRuntime":
            metadata["namespace"] = "ml"
        return {"kind": kind, "metadata": metadata, "spec": {"mlPolicy": {"numNodes": 2}}}

    old = {"trainer.kubeflow.org/support": "deprecated", "trainer.kubeflow.org/framework": "torch"}
    found = [runtime("torch", "TrainingRuntime"), runtime("torch", "ClusterTrainingRuntime", **old)]
    view = View.of(job("a", "Running"), job("b", "Complete"))
    assert text(runtime_table(found, view, T0)) == shown("""
        NAME   SCOPE               FRAMEWORK  NODES  JOBS  AGE
        torch  cluster,deprecated  torch      2      1     60s
        torch  namespace           -          2      0     60s
    """)


def test_pods_stand_in_the_order_of_their_ranks() -> None:
    ranks = {"batch.kubernetes.io/job-completion-index": "10"}
    pods = of("digits", running("digits-x", on="a", annotations=ranks), running("digits-y", on="b"))
    assert text(pod_table(pods, T0)) == shown("""
        NAME      JOB     STAGE  RANK  STATUS   NODE  RESTARTS  AGE
        digits-y  digits  node   -     Running  b     0         60m
        digits-x  digits  node   10    Running  a     0         60m
    """)


def test_history_begins_with_the_last_that_ended() -> None:
    used = {"cpu": "7200", "nvidia.com/gpu": "57600", "memory": "1"}
    told = {"restarts": 2, "message": "it fell", "submitter": "alice"}
    records = [
        record("first", ran=59, ended=T0 - 60 * MINUTE),
        record("last", ran=7200, waitSeconds=5, resourceSeconds=used, outcome="Failed", **told),
    ]
    assert text(history_table(records, T0), wide=True) == shown("""
        NAME   OUTCOME   NODES  RUNTIME  WAITED  RAN   USED            ENDED  SUBMITTER  RESTARTS  REASON  MESSAGE
        last   Failed    2      torch    5s      120m  16GPU-h,2CPU-h  0s     alice      2         -       it fell
        first  Complete  2      torch    -       59s   -               60m    -          0         -       -
    """)


@pytest.mark.parametrize(
    ("amount", "said"),
    [(0.00003, "<0.0001"), (0.0002, "0.0002"), (0.0234, "0.023"), (0, "0"), (1.5, "1.5"), (2.0, "2"), (36.4, "36")],
)
def test_figures_have_the_digits_that_tell_something(amount: float, said: str) -> None:
    assert figure(amount) == said


def test_what_cannot_be_counted_is_left_out() -> None:
    assert hours({"cpu": "many", "example.com/fpga": "3600"}) == "1example.com/fpga-h"


def test_top_begins_with_those_that_hold_most() -> None:
    jobs = [job("small", "Running"), job("large", "Running"), job("idle", "Pending")]
    pods = [*of("small", running("small-0", on="a", cpu=1)), *of("large", running("large-0", on="b", cpu=3))]
    used = {("ml", "large-0"): {"cpu": 15 * 10**8, "memory": 2**30 * 10**9}}
    assert text(top_table(by_job(jobs, pods, used)), wide=True) == shown("""
        NAME   STATE    CPU  MEMORY  GPU  PODS  CPU-USED  MEMORY-USED  NODES
        large  Running  3    1Gi     -    1     1.5       1Gi          b
        small  Running  1    1Gi     -    1     -         -            a
    """)
    nodes = by_node([node("a", 4), node("b", 4)], pods, {})
    assert text(top_table(nodes, bars=True)).splitlines()[1].split()[:4] == ["b", "Unknown", bar(0.75), "3/4"]
    assert together(nodes) == "together: 4 of 8 CPU (50 %), 2Gi of 64Gi memory (3 %)"


def event(name: str, kind: str, *, at: datetime, uid: str = "", note: str = "it happened") -> Raw:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{at.timestamp()}", "namespace": "ml", "uid": f"{name}{at}"},
        "type": "Normal",
        "reason": "Happened",
        "note": note,
        "regarding": {"kind": kind, "name": name, "uid": uid or f"uid-{name}"},
        "eventTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": "somebody",
    }


def test_events_of_a_job_are_those_of_all_that_was_made_for_it() -> None:
    mine, other = job("digits", "Running"), job("digits-node-2", "Running")
    owner = [
        {
            "apiVersion": mine["apiVersion"],
            "kind": "TrainJob",
            "name": "digits",
            "uid": "uid-digits",
            "controller": True,
        }
    ]
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "digits", "namespace": "ml", "uid": "uid-set", "ownerReferences": owner},
    }
    events = [
        event("digits", "JobSet", at=T0, uid="uid-set", note="the set"),
        event("digits-node-0-1-abcde", "Pod", at=T0 - MINUTE, note="a pod that is gone"),
        event("digits-node-0-1-vwxyz", "Pod", at=T0 - 60 * MINUTE, note="a pod of an older job"),
        event("digits-node-2-node-0-0-abcde", "Pod", at=T0, note="another's pod"),
        event("letters", "TrainJob", at=T0, note="another job"),
    ]
    found = about(events, mine, View.of(mine, other, jobset))
    assert text(event_table(found, T0 + MINUTE)) == shown("""
        SEEN  TYPE    REASON    OBJECT                     MESSAGE
        2m    Normal  Happened  pod/digits-node-0-1-abcde  a pod that is gone
        60s   Normal  Happened  jobset/digits              the set
    """)
