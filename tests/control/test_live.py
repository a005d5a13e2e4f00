"""A View that is kept up to date shows what one made anew of the same objects shows."""

import inspect
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from trainplane.control.live import Live
from trainplane.reconcile.news import News
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
UIDS = ("u1", "u2", "")
NAMES, SPACES = ("a", "b", "c"), ("", "x", "y")
SORTS = (("v1", "Pod"), ("batch/v1", "Job"), ("events.k8s.io/v1", "Event"))

NODES = ("m", "n")


@st.composite
def objects(draw: st.DrawFn) -> Raw:
    version, kind = draw(st.sampled_from(SORTS))
    owners = draw(st.lists(st.tuples(st.sampled_from(UIDS), st.booleans()), max_size=2, unique_by=lambda one: one[0]))
    raw: Raw = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": draw(st.sampled_from(NAMES)),
            "namespace": draw(st.sampled_from(SPACES)),
            "resourceVersion": draw(st.sampled_from("123")),
            "ownerReferences": [{"uid": uid, "controller": controller} for uid, controller in owners],
        },
    }
    if kind == "Pod":
        raw["spec"] = {"nodeName": node} if (node := draw(st.sampled_from(("", *NODES)))) else {}
    return {**raw, "regarding": {"uid": draw(st.sampled_from(UIDS))}} if kind == "Event" else raw


STEPS = st.lists(st.tuples(st.booleans(), objects()), max_size=30)


def ordered(raws: Any) -> list[str]:
    return sorted(map(str, raws))


@given(steps=STEPS)
def test_it_shows_what_a_view_of_the_same_objects_shows(steps: list[tuple[bool, Raw]]) -> None:
    live, world = Live(), dict[Ref, Raw]()
    for there, raw in steps:
        ref = Ref.of(raw)
        before = live.put(raw) if there else live.remove(ref)
        assert before == world.pop(ref, None)
        if there:
            world[ref] = raw
    view = View(world.values())
    assert len(live) == len(world)
    for uid in UIDS:
        assert ordered(live.controlled_by(uid)) == ordered(view.controlled_by(uid))
        assert ordered(live.controlled_by(uid, "Pod")) == ordered(view.controlled_by(uid, "Pod"))
        assert ordered(live.owned_by(uid)) == ordered(view.owned_by(uid))
        assert ordered(live.events_about(uid)) == ordered(view.events_about(uid))
    for group, kind in (("", "Pod"), ("batch", "Job"), ("events.k8s.io", "Event"), ("", "Node")):
        for namespace in (None, *SPACES):
            assert ordered(live.all(group, kind, namespace=namespace)) == ordered(
                view.all(group, kind, namespace=namespace)
            )
        assert live.refs(group, kind) == [Ref.of(raw) for raw in live.all(group, kind)]
        for space in SPACES:
            for name in NAMES:
                ref = Ref(group, kind, space, name)
                assert live.get(ref) == view.get(ref)
                assert live.has(ref) == view.has(ref)
    for node in NODES:
        assert ordered(live.pods_on(node)) == ordered(view.pods_on(node))


def test_many_objects_are_let_go_and_come_back_as_they_were() -> None:
    """As JSON that somebody else keeps: what was asked for lately stays, the rest is decoded when it is wanted."""
    live = Live()
    raws = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"p{number}",
                "namespace": "ml",
                "ownerReferences": [{"uid": "u", "controller": True}],
            },
            "spec": {"nodeName": f"node-{number % 2}"},
        }
        for number in range(3000)
    ]
    for raw in raws:
        managed = {**raw, "metadata": {**raw["metadata"], "managedFields": [{"manager": "kubectl"}]}}
        assert live.put(raw, source=orjson.dumps(managed)) is None
    latest, oldest = Ref.of(raws[-1]), Ref.of(raws[0])
    assert live.get(latest) is raws[-1]
    assert live.get(oldest) == raws[0]
    assert live.get(oldest) is not raws[0], "it was decoded again"
    assert live.get(oldest) is live.get(oldest), "and is kept for those who ask soon"
    assert ordered(live.all("", "Pod")) == ordered(live.controlled_by("u")) == ordered(raws)
    assert ordered(live.pods_on("node-1")) == ordered(raws[1::2])
    assert live.put({**raws[7], "spec": {}}) == raws[7]
    assert live.remove(Ref.of(raws[8])) == raws[8]
    assert live.get(Ref.of(raws[7])) == {**raws[7], "spec": {}}
    assert live.get(Ref.of(raws[8])) is None
    live.put({**raws[-1], "spec": {}})
    assert all(live.get(Ref.of(raw)) == raw for raw in raws[1000:2500]), "and what was asked for before is let go"
    assert live.get(latest) == {**raws[-1], "spec": {}}, "as it is now, not as it was"
    live.put(raws[-1])
    assert len(live) == len(live.controlled_by("u")) == 2999
    assert len(live.pods_on("node-1")) == 1499


@given(steps=STEPS, every=st.integers(1, 5))
def test_who_asks_for_news_now_and_then_misses_nothing(steps: list[tuple[bool, Raw]], every: int) -> None:
    live, news, known = Live(), News(), dict[Ref, Raw]()
    for number, (there, raw) in enumerate(steps):
        live.put(raw) if there else live.remove(Ref.of(raw))
        if number % every and raw is not steps[-1][1]:
            continue
        changed = news.of(live, "", "Pod")
        if changed is None:
            known = {Ref.of(each): each for each in live.all("", "Pod")}
        for ref in changed or ():
            known.pop(ref, None)
            if found := live.get(ref):
                known[ref] = found
        assert ordered(known.values()) == ordered(live.all("", "Pod"))


def test_news_are_of_one_view_and_not_for_ever() -> None:
    live, news = Live(), News()
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}} for number in range(9000)]
    assert news.of(live, "", "Pod") is None
    live.put(pods[0])
    assert news.of(live, "", "Pod") == [Ref.of(pods[0])]
    assert news.of(live, "", "Pod") == []
    for pod in pods:
        live.put(pod)
    assert news.of(live, "", "Pod") is None, "too much has happened"
    assert news.of(live, "", "Pod") == []
    assert news.of(Live(), "", "Pod") is None, "another View, of which nothing is known"
    assert news.of(live, "", "Pod") is None


def test_it_follows_every_way_to_look_at_a_view() -> None:
    looks = [name for name, value in inspect.getmembers(View, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in looks if name not in vars(Live)] == []


def test_a_view_of_nothing_keeps_nothing() -> None:
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": [{"uid": "u"}]}}
    live = Live.of(raw)
    live.remove(Ref.of(raw))  # type: ignore[attr-defined]
    held = [getattr(live, name) for name in Live.__slots__ if name not in ("_hot", "variety")]
    assert all(not index or not any(index.values()) for index in held)
