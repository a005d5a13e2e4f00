"""Who stands where in line, and when there will be room for each."""

from datetime import datetime, timedelta
from typing import Any

from tests.gang.worlds import T0, VOLCANO_NAME, gang, node, pod, queue, stamp, volcano
from trainplane.gang.forecast import End, Start, Turn, forecast, line
from trainplane.reconcile.view import View

Raw = dict[str, Any]
MINUTE = timedelta(minutes=1)


def of(job: str, *pods: Raw) -> list[Raw]:
    """Pods as a TrainJob's JobSet labels them."""
    for one in pods:
        if one["kind"] == "Pod":
            one["metadata"]["labels"] = {
                **(one["metadata"].get("labels") or {}),
                "jobset.sigs.k8s.io/jobset-name": job,
            }
    return list(pods)


def running(name: str, cpu: int, *, on: str = "a", since: datetime = T0) -> Raw:
    return pod(name, cpu, on=on, status={"phase": "Running", "startTime": stamp(since)})


def lasting(minutes: dict[str, float]) -> Any:
    """Pods end so many minutes after their start; others, nobody knows when."""

    def ends(raw: Raw, start: datetime) -> End | None:
        name = raw["metadata"]["name"].partition("-")[0]
        return End(start + minutes[name] * MINUTE, f"what is known of {name}") if name in minutes else None

    return ends


def test_a_line_is_ordered_by_priority_then_age_and_counts_jobs_not_pods() -> None:
    world = [
        node("a", 1),
        *of("big", *gang("big", 2, 4, made=T0 - 3 * MINUTE)),
        *of("late", pod("late-0", 4, made=T0 - MINUTE), pod("late-1", 4, made=T0 - MINUTE)),
        *of("urgent", pod("urgent-0", 4, priority=9, made=T0)),
        pod("alone", 4, made=T0 - 2 * MINUTE),
    ]
    found = line(View(world))
    assert {name: turn for (_, name), turn in found.items()} == {
        "urgent": Turn("default", 1, 4),
        "big": Turn("default", 2, 4),
        "alone": Turn("default", 3, 4),
        "late": Turn("default", 4, 4),
    }


def test_each_queue_has_a_line_of_its_own_and_who_cannot_be_tried_has_no_place() -> None:
    world = [
        node("a", 1),
        queue("research"),
        volcano("ours", 1, queue="research"),
        *of("ours", pod("ours-0", 4, annotations={VOLCANO_NAME: "ours"})),
        volcano("lost", 1, queue="nowhere"),
        *of("lost", pod("lost-0", 4, annotations={VOLCANO_NAME: "lost"})),
        *of("other", pod("other-0", 4)),
    ]
    assert line(View(world)) == {("ml", "ours"): Turn("research", 1, 1), ("ml", "other"): Turn("default", 1, 1)}


def test_room_comes_when_those_who_run_are_expected_to_end() -> None:
    world = [
        node("a", 4),
        *of("first", running("first-0", 4, since=T0 - 5 * MINUTE)),
        *of("second", *gang("second", 2, 2, made=T0 - 3 * MINUTE)),
        *of("third", pod("third-0", 3, made=T0 - MINUTE)),
    ]
    found = forecast(world, T0, ends=lasting({"first": 15, "second": 20, "third": 1}))
    assert found == {
        ("ml", "second"): Start(T0 + 10 * MINUTE, ("what is known of first",)),
        ("ml", "third"): Start(T0 + 30 * MINUTE, ("what is known of first", "what is known of second")),
    }


def test_nothing_is_said_where_it_hangs_on_an_end_that_nobody_knows() -> None:
    world = [
        node("a", 4),
        node("b", 2),
        *of("endless", running("endless-0", 4)),
        *of("short", running("short-0", 2, on="b")),
        *of("large", pod("large-0", 4, made=T0 - 3 * MINUTE)),
        *of("small", pod("small-0", 2, made=T0 - MINUTE)),
    ]
    found = forecast(world, T0, ends=lasting({"short": 3, "large": 1, "small": 1}))
    assert {name: start.at for (_, name), start in found.items()} == {"small": T0 + 3 * MINUTE}


def test_an_end_that_is_overdue_is_expected_now() -> None:
    world = [node("a", 4), running("late-0", 4, since=T0 - 60 * MINUTE), *of("next", pod("next-0", 4))]
    assert forecast(world, T0, ends=lasting({"late": 5}))["ml", "next"].at == T0


def test_who_fits_now_starts_now() -> None:
    assert forecast([node("a", 4), pod("p", 1)], T0, ends=lasting({})) == {("ml", "p"): Start(T0, ())}


def test_a_long_line_is_foretold_to_its_end() -> None:
    """Though every pod ends at a time of its own."""
    nodes = [node(f"n{i:02}", 1) for i in range(40)]
    busy = [running(f"busy{i:02}-0", 1, on=f"n{i:02}", since=T0 - timedelta(seconds=i)) for i in range(40)]
    waiting = [one for i in range(400) for one in of(f"w{i}", pod(f"w-{i}", 1, made=T0 - timedelta(seconds=400 - i)))]

    def ends(_raw: Raw, start: datetime) -> End:
        return End(start + 10 * MINUTE, "")

    found = forecast([*nodes, *busy, *waiting], T0, ends=ends)
    assert len(found) == 400
    last = found["ml", "w399"].at - T0
    assert abs(last - 100 * MINUTE) < 5 * MINUTE, "ten rounds of ten minutes, within a few percent"
