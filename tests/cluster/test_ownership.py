"""Who owns what after applies and updates, beyond the recorded cases: order, limits, kubectl's annotation, scale."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trainplane.api.kinds import KINDS
from trainplane.api.meta import Raw
from trainplane.cluster.entries import scale_entries, scaled_entries
from trainplane.cluster.errors import ApplyConflict, BadRequest
from trainplane.cluster.ownership import LAST_APPLIED, Untyped, apply, same_but_for_times, update
from trainplane.cluster.tracking import blank_of, ignored_fields, merge_schema

T0 = datetime(2026, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)
ROWS = {row.kind: row for row in reversed(KINDS)}


def facts(kind: str, subresource: str = "") -> dict[str, Any]:
    """What tracking knows of a kind."""
    row = ROWS[kind]
    ignored = ignored_fields(row, subresource)
    return {"schema": merge_schema(row), "ignored": ignored, "blank": blank_of(row), "subresource": subresource}


def config(**data: str | None) -> Raw:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def service(*ports: Any) -> Raw:
    """A Service with these ports."""
    spec = {"ports": [{"port": port} if isinstance(port, int) else port for port in ports]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def applied(live: Raw | None, patch: Raw, manager: str = "m1", *, at: int = 0, **said: Any) -> Raw:
    """What an apply makes."""
    now = T0 + timedelta(seconds=at)
    return apply(live, patch, manager=manager, now=now, **facts(patch["kind"]), **said).object


def updated(live: Raw | None, new: Raw, manager: str = "u1", *, at: int = 0) -> Raw:
    """The object that an update makes, with its managedFields."""
    entries = update(live, new, manager=manager, now=T0 + timedelta(seconds=at), **facts(new["kind"]))
    metadata = {name: item for name, item in new["metadata"].items() if name != "managedFields"}
    return {**new, "metadata": {**metadata, "managedFields": entries}}


def owners(raw: Raw) -> list[tuple[str, str, str]]:
    """Each entry's operation, manager and time."""
    return [(entry["operation"], entry["manager"], entry.get("time", "")) for entry in managed(raw)]


def managed(raw: Raw) -> list[Raw]:
    """The managedFields."""
    return raw["metadata"].get("managedFields", [])  # type: ignore[no-any-return]


def ports(raw: Raw) -> list[int]:
    """The ports of a Service, in order."""
    return [port["port"] for port in raw["spec"]["ports"]]


def test_an_entry_has_whole_seconds_and_keeps_its_time_when_nothing_changes() -> None:
    first = applied(None, config(k="v"))
    assert owners(first) == [("Apply", "m1", "2026-01-31T12:00:00Z")]
    again = apply(first, config(k="v"), manager="m1", now=T0 + timedelta(hours=1), **facts("ConfigMap"))
    assert again.object == first
    assert not again.changed


def test_sharing_is_a_change_without_a_time() -> None:
    first = applied(None, config(k="v"))
    shared = apply(first, config(k="v"), manager="m2", now=T0, **facts("ConfigMap"))
    assert shared.changed
    assert owners(shared.object)[0] == ("Apply", "m2", "")


def test_entries_are_in_order_of_operation_time_and_name() -> None:
    raw = updated(None, config(a="1"), "z")
    raw = updated(raw, {**raw, "data": {"a": "1", "b": "1"}}, "y", at=2)
    raw = applied(raw, config(c="1"), "x", at=3)
    raw = applied(raw, config(d="1"), "w", at=3)
    assert [name for _, name, _ in owners(raw)] == ["w", "x", "z", "y"]


def test_items_keep_their_place() -> None:
    raw = applied(None, service(1, 2, 3))
    raw = applied(raw, service(0, 3), "m2")
    assert ports(raw) == [1, 2, 0, 3]
    raw = applied(raw, service(3, 1))
    assert ports(raw) == [0, 3, 1]
    raw = applied(raw, service(9, 1, 8), "m3")
    assert ports(raw) == [0, 3, 9, 1, 8]
    assert ports(applied(applied(None, service(1, 2)), service(8, 1, 9), "m2")) == [8, 1, 2, 9]


def test_a_missing_protocol_is_tcp() -> None:
    raw = applied(None, service(80, {"port": 80, "protocol": "UDP"}))
    keys = managed(raw)[0]["fieldsV1"]["f:spec"]["f:ports"]
    assert list(keys) == ['k:{"port":80,"protocol":"TCP"}', 'k:{"port":80,"protocol":"UDP"}']
    shared = applied(raw, service({"port": 80, "protocol": "TCP", "name": "x"}), "m2")
    assert shared["spec"]["ports"][0] == {"port": 80, "protocol": "TCP", "name": "x"}
    assert len(shared["spec"]["ports"]) == 2


def test_two_items_of_one_key_are_refused_by_name() -> None:
    with pytest.raises(Untyped) as refused:
        applied(None, service(80, {"port": 80, "protocol": "TCP"}))
    assert refused.value.mistakes == ('.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(Untyped) as refused:
        applied(None, {**config(), "data": {"a": 1, "b": [True]}, "bogus": {}})
    assert str(refused.value) == (
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n"
        "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
        "  .data.b: expected string, got &value.valueUnstructured{Value:[]interface {}{true}}\n"
        "  .bogus: field not declared in schema"
    )


def test_a_missing_key_counts_as_empty_in_built_in_kinds_alone() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"image": "i"}]}}
    assert 'k:{"name":""}' in managed(applied(None, pod))[0]["fieldsV1"]["f:spec"]["f:containers"]
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}}
    with pytest.raises(Untyped, match=r'omits all key fields \["name"\]'):
        applied(None, {**jobset, "spec": {"replicatedJobs": [{"replicas": 1}]}})


def test_managed_fields_cannot_be_applied() -> None:
    nothing: list[list[Raw]] = [[], [{}]]
    for entries in nothing:
        with pytest.raises(BadRequest, match=r"metadata\.managedFields must be nil"):
            applied(None, {**config(), "metadata": {"name": "a", "managedFields": entries}})


def test_what_is_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(950):
        deep = {"a": deep}
    with pytest.raises(BadRequest, match="exceeded max depth"):
        applied(None, {**config(), "data": {"a": deep}})
    raw = applied(None, config(a="1"))
    sent = [{**managed(raw)[0], "fieldsV1": {"f:a": deep}}]
    after = updated(raw, {**raw, "metadata": {"name": "a", "managedFields": sent}})
    assert owners(after) == owners(raw)


def test_force_takes_and_leaves_the_rest() -> None:
    raw = applied(applied(None, config(a="1", b="1")), config(a="2"), "m2", force=True)
    assert raw["data"] == {"a": "2", "b": "1"}
    assert [(entry["manager"], entry["fieldsV1"]) for entry in managed(raw)] == [
        ("m1", {"f:data": {"f:b": {}}}),
        ("m2", {"f:data": {"f:a": {}}}),
    ]


def test_a_map_that_is_emptied_stays_with_whoever_owns_it() -> None:
    raw = updated(None, config(a="1"))
    raw = applied(raw, config(a="2"), force=True)
    raw = applied(raw, {**config(), "data": None})
    assert [(entry["manager"], entry["fieldsV1"]) for entry in managed(raw)] == [
        ("m1", {"f:data": {}}),
        ("u1", {"f:data": {}}),
    ]


def test_what_was_there_belongs_to_whoever_came_before() -> None:
    raw = applied(config(a="1"), config(b="1"))
    assert [(entry["manager"], entry["fieldsV1"]) for entry in managed(raw)] == [
        ("m1", {"f:data": {"f:b": {}}}),
        ("before-first-apply", {"f:data": {".": {}, "f:a": {}}}),
    ]


@pytest.mark.parametrize(("kind", "sent", "left"), [
    pytest.param("ConfigMap", [], 0, id="an empty list resets a built-in kind"),
    pytest.param("ConfigMap", [{}], 0, id="so does an empty entry"),
    pytest.param("ConfigMap", [{"manager": "x", "operation": "Bogus"}], 2, id="a broken entry is passed over"),
    pytest.param("ConfigMap", [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                                "fieldsV1": {"q": 1}}], 2, id="so are broken fields"),
    pytest.param("JobSet", [], 2, id="an empty list is not seen in a custom kind"),
    pytest.param("JobSet", [{}], 0, id="an empty entry is"),
])  # fmt: skip
def test_managed_fields_in_an_update(kind: str, sent: list[Raw], left: int) -> None:
    version = ROWS[kind].api_version
    raw = applied(None, {"apiVersion": version, "kind": kind, "metadata": {"name": "a", "labels": {"x": "1"}}})
    new = {**raw, "metadata": {"name": "a", "labels": {"x": "1", "y": "1"}, "managedFields": sent}}
    after = updated(raw, new)
    assert len(managed(after)) == left
    if not left:
        assert managed(updated(after, {**after, "metadata": {"name": "a"}})) == []


def test_well_formed_entries_in_an_update_are_taken() -> None:
    raw = applied(None, config(a="1"))
    mine = [{**managed(raw)[0], "manager": "me"}]
    after = updated(raw, {**raw, "metadata": {"name": "a", "managedFields": mine}})
    assert [name for _, name, _ in owners(after)] == ["me"]


def test_the_oldest_of_many_updaters_are_gathered() -> None:
    raw = updated(None, config(k0="1"), "u0")
    for number in range(1, 12):
        data = {**raw["data"], f"k{number}": "1"}
        raw = updated(raw, {**raw, "data": data}, f"u{number}", at=number)
    names = [name for _, name, _ in owners(raw)]
    assert names == ["ancient-changes", *(f"u{number}" for number in range(3, 12))]
    assert set(managed(raw)[0]["fieldsV1"]["f:data"]) == {".", "f:k0", "f:k1", "f:k2"}


def test_kubectl_goes_from_client_side_to_server_side_apply() -> None:
    last = json.dumps(config(a="1"))
    raw = config(a="1", b="9")
    raw = updated(None, {**raw, "metadata": {"name": "a", "annotations": {LAST_APPLIED: last}}}, "kubectl-client-side")
    with pytest.raises(ApplyConflict):
        applied(raw, config(a="2"), "other")
    with pytest.raises(ApplyConflict, match=r"\.data\.b"):
        applied(raw, config(b="2"), "kubectl")
    after = applied(raw, config(a="2"), "kubectl")
    assert after["data"] == {"a": "2", "b": "9"}
    assert json.loads(after["metadata"]["annotations"][LAST_APPLIED]) == config(a="2")


def test_status_has_an_entry_of_its_own() -> None:
    live = applied(
        None, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"suspend": True}}
    )
    patch = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {"l": "1"}},
        "spec": {"suspend": False},
        "status": {"active": 1},
    }
    after = apply(live, patch, manager="m1", now=T0, **facts("Job", "status")).object
    assert (after["spec"], after["status"]) == ({"suspend": True}, {"active": 1})
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in managed(after)] == [
        (None, {"f:spec": {"f:suspend": {}}}),
        ("status", {"f:metadata": {"f:labels": {"f:l": {}}}, "f:status": {"f:active": {}}}),
    ]
    with pytest.raises(ApplyConflict, match='conflict with "m1" with subresource "status"'):
        apply(after, {**patch, "status": {"active": 2}}, manager="m2", now=T0, **facts("Job", "status"))


def test_status_is_not_applied_with_the_rest() -> None:
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}}
    after = applied(None, {**jobset, "spec": {"suspend": True}, "status": {"restarts": 3}})
    assert "status" not in after
    assert managed(after)[0]["fieldsV1"] == {"f:spec": {"f:suspend": {}}}


def test_a_scale_shares_its_owners_with_its_object() -> None:
    replicas = ("f:spec", "f:trainer", "f:numNodes")
    entries = [
        {
            "manager": "u",
            "operation": "Update",
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "time": "2026-01-31T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:suspend": {}, "f:trainer": {"f:numNodes": {}}}},
        }
    ]
    seen = scale_entries(entries, replicas)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": {}}}}}
    schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}  # type: ignore[operator]
    live = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 1}}
    live["metadata"] = {"managedFields": seen}
    patch = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    with pytest.raises(ApplyConflict, match=r'conflict with "u" using autoscaling/v1: \.spec\.replicas'):
        apply(live, patch, manager="m", schema=schema, now=T0, subresource="scale")
    after = apply(live, patch, manager="m", schema=schema, now=T0, subresource="scale", force=True).object
    left = scaled_entries(entries, managed(after), replicas=replicas, api_version="trainer.kubeflow.org/v1alpha1")
    assert [(entry["manager"], entry.get("subresource"), entry["fieldsV1"]) for entry in left] == [
        ("m", "scale", {"f:spec": {"f:trainer": {"f:numNodes": {}}}}),
        ("u", None, {"f:spec": {"f:suspend": {}}}),
    ]
    assert "time" not in left[0]


def test_times_alone_are_no_change() -> None:
    first, later = applied(None, config(a="1")), applied(None, config(a="1"), at=60)
    assert same_but_for_times(first, later)
    assert not same_but_for_times(first, applied(None, config(a="1"), "m2"))
    assert not same_but_for_times(first, applied(None, config(a="2")))


def test_true_is_not_one() -> None:
    schema = {"type": "object", "properties": {"x": {}, "apiVersion": {}}}
    raw = apply(None, {"apiVersion": "v1", "x": 1}, manager="m1", schema=schema, now=T0).object
    with pytest.raises(ApplyConflict):
        apply(raw, {"apiVersion": "v1", "x": True}, manager="m2", schema=schema, now=T0)
    apply(raw, {"apiVersion": "v1", "x": 1.0}, manager="m2", schema=schema, now=T0)
