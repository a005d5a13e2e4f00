"""A View finds objects by name, by kind and by owner, and a Decision is a value."""

from datetime import timedelta

from trainplane.reconcile.decision import NOTHING, Create, Decision, Record
from trainplane.reconcile.view import Ref, View, group_of

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "ns", "uid": "u"}}
CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}}


def pod(name: str, namespace: str = "ns", **owner: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [{"uid": "u", **owner}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def test_a_ref_is_the_way_to_an_object() -> None:
    assert Ref.of(JOB) == Ref("batch", "Job", "ns", "a")
    assert Ref.of(CLASS) == Ref("node.k8s.io", "RuntimeClass", "", "gvisor")
    assert Ref.of(pod("p")).group == ""
    assert [group_of(version) for version in ("v1", "batch/v1", "")] == ["", "batch", ""]


def test_objects_are_found_by_name() -> None:
    view = View.of(JOB, CLASS)
    assert view.get(Ref.of(JOB)) is JOB
    assert view.get(Ref.of(JOB)._replace(namespace="other")) is None


def test_it_can_be_asked_whether_an_object_is_there() -> None:
    view = View.of(JOB, CLASS)
    assert view.has(Ref.of(CLASS))
    assert not view.has(Ref.of(JOB)._replace(name="b"))


def test_what_an_object_controls_is_found_by_kind() -> None:
    mine = pod("p", controller=True)
    other = {**pod("q", controller=True), "kind": "Secret"}
    view = View.of(mine, other)
    assert view.controlled_by("u", "Pod") == [mine]
    assert view.controlled_by("u") == [mine, other]
    assert view.controlled_by("u", "Job") == []


def test_objects_are_found_by_kind_in_one_namespace_or_in_all() -> None:
    here, there = pod("p"), pod("p", "other")
    view = View.of(here, there, JOB)
    assert list(view.all("", "Pod")) == [here, there]
    assert list(view.all("", "Pod", namespace="other")) == [there]
    assert list(view.all("", "Pod", namespace="")) == []
    assert list(view.all("", "Nothing")) == []


def test_only_its_controller_owns_an_object() -> None:
    owned, shared = pod("p", controller=True), pod("q", controller=False)
    view = View.of(owned, shared, pod("r"))
    assert view.controlled_by("u") == [owned]
    assert view.controlled_by("") == []


def test_whoever_is_named_as_owner_has_the_object_as_a_dependent() -> None:
    owned, shared = pod("p", controller=True), pod("q", controller=False)
    view = View.of(owned, shared)
    assert view.owned_by("u") == [owned, shared]
    assert view.owned_by("nobody") == []


def test_events_are_found_by_what_they_are_about() -> None:
    about = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "regarding": {"uid": "u"}}
    other = {**about, "metadata": {"name": "f"}, "regarding": {"uid": "v"}}
    view = View.of(about, other, {**about, "metadata": {"name": "g"}, "regarding": None})
    assert view.events_about("u") == [about]
    assert view.events_about("nobody") == []


def test_looking_leaves_no_trace() -> None:
    view = View.of(JOB)
    view.controlled_by("nobody")
    list(view.all("x", "Y"))
    assert list(view.all("batch", "Job")) == [JOB]


def test_decisions_are_values() -> None:
    record = Record(Ref.of(JOB), "Warning", "Reason", "note")
    assert Decision.of([record], again=timedelta(seconds=1)) == Decision((record,), timedelta(seconds=1))
    assert Decision.of(iter(())) == NOTHING
    assert Create(JOB).generate == ()
