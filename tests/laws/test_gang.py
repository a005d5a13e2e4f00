"""The laws of placing: nothing over-committed, no gang split, nobody passed over, and the same answer every time."""

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gang.worlds import T0, Day, binds, decide, deleted, gang, group, node, pod, queue
from trainplane.api.quantity import amounts
from trainplane.gang.ledger import Ledger
from trainplane.gang.place import Placer
from trainplane.gang.schedule import Scheduler
from trainplane.reconcile.view import View

Raw = dict[str, Any]

ZONES = ("a", "b")


@st.composite
def specs(draw: st.DrawFn) -> Raw:
    """What pods ask of where they go, more or less."""
    spec: Raw = {}
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"zone": draw(st.sampled_from(ZONES))}
    if draw(st.integers(0, 4)) == 0:
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    if draw(st.integers(0, 4)) == 0:
        kind = draw(st.sampled_from(("podAffinity", "podAntiAffinity")))
        term = {
            "topologyKey": draw(st.sampled_from(("zone", "kubernetes.io/hostname"))),
            "labelSelector": {"matchLabels": {"app": draw(st.sampled_from("xy"))}},
        }
        spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if draw(st.integers(0, 5)) == 0:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": draw(st.sampled_from("xy"))}},
            }
        ]
    return spec


@st.composite
def nodes(draw: st.DrawFn, most: int = 4) -> list[Raw]:
    """A few nodes of different size."""
    found = []
    for i in range(draw(st.integers(1, most))):
        taints = (
            {"taints": [{"key": "gpu", "value": "", "effect": "NoSchedule"}]} if draw(st.integers(0, 5)) == 0 else {}
        )
        zone = {"zone": draw(st.sampled_from(ZONES))}
        found.append(node(f"n{i}", draw(st.integers(1, 6)), labels=zone, spec=taints))
    return found


@st.composite
def worlds(draw: st.DrawFn, *, rich: bool = True, priorities: int = 2) -> list[Raw]:
    """Nodes, gangs and single pods, some of them with a wish."""
    there = draw(nodes())
    found = list(there)
    for g in range(draw(st.integers(0, 4))):
        size, cpu = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        spec = draw(specs()) if rich else {}
        ports = [{"hostPort": 80, "containerPort": 80}] if rich and draw(st.integers(0, 6)) == 0 else []
        container = {"name": "m", "resources": {"requests": {"cpu": str(cpu)}}, "ports": ports}
        found += gang(
            f"g{g}",
            size,
            cpu,
            least=draw(st.integers(1, size)),
            priority=draw(st.integers(0, priorities)),
            labels={"app": draw(st.sampled_from("xy"))},
            spec={**spec, "containers": [container]},
            made=T0 - timedelta(seconds=draw(st.integers(60, 90))),
        )
    for i in range(draw(st.integers(0, 4))):
        labels = {"app": draw(st.sampled_from("xy"))}
        spec = draw(specs()) if rich else {}
        found.append(
            pod(f"s{i}", draw(st.integers(1, 4)), labels=labels, spec=spec, priority=draw(st.integers(0, priorities)))
        )
    return found


def settled(objects: list[Raw], looks: int = 6) -> tuple[Day, list[Raw]]:
    """The world after the scheduler has nothing more to bind, pods running on."""
    day = Day(objects, lambda _: 10_000)
    for _ in range(looks):
        day.look()
    return day, list(day.objects.values())


@given(worlds())
def test_no_node_is_over_committed(objects: list[Raw]) -> None:
    """Whatever is bound together fits its nodes, in every resource and port."""
    _, after = settled(objects)
    held: dict[str, Counter[str]] = defaultdict(Counter)
    ports: dict[str, Counter[int]] = defaultdict(Counter)
    for raw in after:
        if raw["kind"] == "Pod" and (where := raw["spec"].get("nodeName")):
            container = raw["spec"]["containers"][0]
            requests = amounts(container["resources"]["requests"])
            held[where].update({name: amount.nano for name, amount in requests.items()})
            held[where]["pods"] += 10**9
            ports[where].update(port["hostPort"] for port in container.get("ports", ()))
    for raw in after:
        if raw["kind"] == "Node":
            name, room = raw["metadata"]["name"], amounts(raw["status"]["allocatable"])
            assert all(amount <= room[resource].nano for resource, amount in held[name].items())
            assert all(count == 1 for count in ports[name].values())


@given(worlds())
def test_no_gang_is_split(objects: list[Raw]) -> None:
    """After every single decision a gang has its quorum or nobody, and evictions take all of it."""
    day = Day(objects, lambda _: 10_000)
    least = {raw["metadata"]["name"]: raw["spec"]["minMember"] for raw in objects if raw["kind"] == "PodGroup"}
    for _ in range(5):
        day.look()
        bound = Counter(
            raw["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"]
            for raw in day.objects.values()
            if raw["kind"] == "Pod" and raw["spec"].get("nodeName") and not raw["metadata"]["name"].startswith("s")
        )
        assert all(count >= least[name] for name, count in bound.items())


@given(worlds())
def test_a_bound_pod_satisfies_every_filter(objects: list[Raw]) -> None:
    """Taking a lone bound pod off its node, the node would still take it; the first of a flock needs no company."""
    _, after = settled(objects, looks=1)
    ledger = Ledger()
    ledger.refresh(View(after))
    placer = Placer(ledger)
    for found in list(ledger.pods.values()):
        if found.node and not found.shape.neighbours.near and not found.shape.spreads:
            ledger.remove(found)
            assert placer.fits(found, ledger.by_name[found.node]), found.ref.name
            ledger.undo()


@given(worlds())
def test_what_is_free_is_the_sum_of_what_nodes_have_left(objects: list[Raw]) -> None:
    """While pods come, go, and are moved on trial; a node that is held for more than it has counts as full."""
    _, after = settled(objects, looks=1)
    ledger, views = Ledger(), (View(objects), View(after), View(objects))
    for view in views:
        ledger.refresh(view)
        assert ledger.free == left_over(ledger)
    for found in list(ledger.pods.values()):
        ledger.remove(found)
    for each in ledger.nodes:
        ledger.hold(each, {name: 2 * amount + 1 for name, amount in each.allocatable.items()})
    assert ledger.free == left_over(ledger)
    ledger.undo()
    assert ledger.free == left_over(ledger)


def left_over(ledger: Ledger) -> dict[str, int]:
    left: Counter[str] = Counter()
    for each in ledger.nodes:
        left.update({name: max(0, amount) for name, amount in each.free.items()})
    return dict(left)


@given(worlds())
def test_the_same_world_gives_the_same_decision(objects: list[Raw]) -> None:
    """In whatever order the objects are seen."""
    assert decide(*objects) == decide(*objects)
    assert binds(decide(*objects)) == binds(decide(*reversed(objects)))


@given(worlds())
def test_a_memory_changes_no_decision(objects: list[Raw]) -> None:
    """A scheduler that has seen all looks before decides as one that sees the world for the first time."""
    day = Day(objects, lambda name: 10 + len(name) * 7 + ord(name[-1]))
    for _ in range(6):
        view = View(day.objects.values())
        assert binds(Scheduler().schedule(view, day.now)) == binds(day.look())
        if not day.step():
            break


@given(worlds(rich=False))
def test_nothing_waits_for_what_it_could_preempt(objects: list[Raw]) -> None:
    """Once settled, the first gang that waits would have no room even if all of lower priority were gone."""
    day, after = settled(objects, looks=12)
    ledger = Ledger()
    ledger.refresh(View(after))
    placer = Placer(ledger)
    waiting: dict[str, list[Any]] = defaultdict(list)
    placed: Counter[str] = Counter()
    for found in ledger.pods.values():
        key = found.group[2] if found.group else found.ref.name
        if found.node:
            placed[key] += 1
        else:
            waiting[key].append(found)
    least = {raw["metadata"]["name"]: raw["spec"]["minMember"] for raw in objects if raw["kind"] == "PodGroup"}
    made = {raw["metadata"]["name"]: raw["metadata"]["creationTimestamp"] for raw in objects if raw["kind"] != "Node"}
    first = sorted(waiting, key=lambda key: (-waiting[key][0].priority, made[key], key))[:1]
    for key, pods in ((key, waiting[key]) for key in first):
        need = max(1, least.get(key, 1) - placed[key])
        for other in list(ledger.pods.values()):
            if other.node and other.priority < pods[0].priority:
                ledger.remove(other)
        assert placer.together(pods, need) is None, key
        ledger.undo()
    assert not deleted(day.look())


@settings(max_examples=150)
@given(nodes(most=3), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_brute_force_agrees_on_the_first_gang(there: list[Raw], sizes: list[int], data: st.DataObject) -> None:
    """A gang is bound exactly where some assignment of its pods to nodes fits."""
    spec = {"tolerations": [{"operator": "Exists"}]}
    pods = [pod(f"p{i}", cpu, group="g", spec=spec) for i, cpu in enumerate(sizes)]
    least = data.draw(st.integers(1, len(pods)))
    room = [int(raw["status"]["allocatable"]["cpu"]) for raw in there]
    possible = False
    for choice in product(range(-1, len(room)), repeat=len(sizes)):
        load = Counter[int]()
        for where, cpu in zip(choice, sizes, strict=True):
            load[where] += cpu
        if sum(where >= 0 for where in choice) >= least and all(load[i] <= room[i] for i in range(len(room))):
            possible = True
    bound = binds(decide(*there, group("g", least), *pods))
    assert (len(bound) >= least) == possible


@settings(max_examples=30)
@given(st.data())
def test_queues_share_by_weight(data: st.DataObject) -> None:
    """While both queues are backlogged, none is further from its share than the size of one gang."""
    weights = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    objects = [*(node(f"n{i}", 4) for i in range(3)), queue("left", weights[0]), queue("right", weights[1])]
    annotation = "scheduling.volcano.sh/queue-name"
    for name in ("left", "right"):
        objects += [pod(f"{name}-{i:02}", 1, annotations={annotation: name}) for i in range(40)]
    lengths = {raw["metadata"]["name"]: data.draw(st.integers(5, 20)) for raw in objects if raw["kind"] == "Pod"}
    day = Day(objects, lambda name: lengths[name])
    for _ in range(12):
        day.look()
        left = [raw for raw in day.objects.values() if raw["kind"] == "Pod"]
        held = Counter(raw["metadata"]["name"].partition("-")[0] for raw in left if raw["spec"].get("nodeName"))
        backlog = Counter(raw["metadata"]["name"].partition("-")[0] for raw in left if not raw["spec"].get("nodeName"))
        if not (backlog["left"] and backlog["right"]):
            break
        if day.now == T0:
            for name, weight in zip(("left", "right"), weights, strict=True):
                assert abs(held[name] - 12 * weight / sum(weights)) <= 1
        before = dict(held)
        ended = Counter(ref.name.partition("-")[0] for ref, end in day.ends.items() if end == min(day.ends.values()))
        day.step()
        after = {name: before.get(name, 0) - ended[name] for name in ("left", "right")}
        new = Counter(name.partition("-")[0] for name in binds(day.look()))
        # Whoever was given something while the other waited had no more than its share before it.
        still = {
            raw["metadata"]["name"].partition("-")[0]
            for raw in day.objects.values()
            if raw["kind"] == "Pod" and not raw["spec"].get("nodeName")
        }
        for mine, other, own, theirs in (("left", "right", 0, 1), ("right", "left", 1, 0)):
            if (
                other in still
                and new[mine]
                and (after[mine] + new[mine] - 1) / weights[own] > after[other] / weights[theirs]
            ):
                assert (after[mine] + new[mine] - 1) / weights[own] <= (after[other] + new[other]) / weights[theirs]


@settings(max_examples=60)
@given(st.data(), st.booleans())
def test_backfill_never_delays_the_head(data: st.DataObject, known: bool) -> None:
    """The first gang starts as soon as without those behind it, where ends are known; else once all before are gone."""

    def timed(seconds: int) -> Raw:
        return {"activeDeadlineSeconds": seconds} if known else {}

    lengths: dict[str, int] = {}
    objects = [node(f"n{i}", data.draw(st.integers(2, 6))) for i in range(data.draw(st.integers(1, 3)))]
    free = {raw["metadata"]["name"]: int(raw["status"]["allocatable"]["cpu"]) for raw in objects}
    for i in range(data.draw(st.integers(1, 5))):
        where, cpu = data.draw(st.sampled_from(sorted(free))), data.draw(st.integers(1, 3))
        if free[where] >= cpu:
            free[where] -= cpu
            lengths[f"r{i}"] = data.draw(st.integers(10, 100))
            running = pod(f"r{i}", cpu, on=where, spec=timed(lengths[f"r{i}"]))
            running["status"]["startTime"] = "2026-01-01T12:00:00Z"
            objects.append(running)
    size, cpu = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    head = gang("head", size, cpu, made=T0 - timedelta(minutes=30))
    lengths |= {f"head-{i}": 5 for i in range(size)}
    behind = []
    for i in range(data.draw(st.integers(1, 6))):
        lengths[f"s{i}"] = data.draw(st.integers(5, 200))
        spec = timed(lengths[f"s{i}"])
        made = T0 - timedelta(minutes=20, seconds=-i)
        behind.append(pod(f"s{i}", data.draw(st.integers(1, 3)), spec=spec, made=made))
    alone, crowd = (Day([*objects, *head, *more], lambda name: lengths[name]) for more in ([], behind))
    alone.run()
    crowd.run()
    latest = T0 + timedelta(seconds=max((lengths[name] for name in lengths if name.startswith("r")), default=0))
    for i in range(size):
        if f"head-{i}" in alone.started:
            bound = alone.started[f"head-{i}"] if known else latest
            assert crowd.started[f"head-{i}"] <= bound
