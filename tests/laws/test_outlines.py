"""Laws of what is remembered of pods' specs: what comes of it is what would be worked out anew."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainplane.api.kinds import Kind, kind_of
from trainplane.cluster import ownership
from trainplane.cluster.api import MANAGER
from trainplane.cluster.defaults import defaulted
from trainplane.cluster.errors import BadRequest
from trainplane.cluster.ground import Call, Ground
from trainplane.cluster.log import Forgetful
from trainplane.cluster.memo import Memo
from trainplane.cluster.outlines import outline, placed_outline
from trainplane.cluster.owning import owned
from trainplane.cluster.pod_specs import remembered
from trainplane.cluster.pod_validation import fresh_causes, spec_causes
from trainplane.cluster.reading import read
from trainplane.cluster.shape import Findings, WrongShape, built_in
from trainplane.cluster.store import Store
from trainplane.cluster.tracking import blank_of, ignored_fields, merge_schema

NOW = datetime(2026, 1, 31, tzinfo=UTC)
POD = kind_of("v1", "Pod")
assert POD
CALL = Call(POD, "ns", "")
GROUND = Ground(
    Store(Forgetful(), now=NOW.timestamp), kinds=[POD], admission={}, now=lambda: NOW, uid=str, place=lambda _: 0
)

_field = {"fieldRef": {"fieldPath": "metadata.name"}}
_values: st.SearchStrategy[Any] = st.sampled_from(["1", "2", "~", "", None, 5])
_env = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["A", "B", "=", ""])},
        optional={"value": _values, "valueFrom": st.sampled_from([_field, {}]), "extra": st.just("x")},
    )
    | st.fixed_dictionaries({"name": st.sampled_from(["A", "B", "C"]), "value": st.sampled_from(["1", "2", "3"])}),
    max_size=3,
)
_tokens = st.sampled_from(["kube-api-access-bcdfg", "kube-api-access-22222", "kube-api-access-a", "v", "-"])
_mounts = st.lists(st.fixed_dictionaries({"name": _tokens, "mountPath": st.sampled_from(["/a", "/b"])}), max_size=2)
_container = st.fixed_dictionaries(
    {"name": st.sampled_from(["c", "d"]), "image": st.sampled_from(["i:1", "i"])},
    optional={"env": _env | st.sampled_from([[], ["A"], ["A", "B"], None, "A"]), "volumeMounts": _mounts},
)
_volume: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": _tokens}, optional={"emptyDir": st.just({})}
)
_specs = st.fixed_dictionaries(
    {"containers": st.lists(_container, max_size=2)},
    optional={
        "initContainers": st.lists(_container, max_size=1),
        "hostname": st.sampled_from(["a", "b", "-", 5]),
        "volumes": st.lists(_volume, max_size=2),
        "restartPolicy": st.sampled_from(["Never", "Sometimes"]),
        "unknown": st.just(1),
    },
)


_hostnames: st.SearchStrategy[Any] = st.sampled_from(["a", "b", "-", "", 5, "a" * 64])


@st.composite
def _families(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Specs of which some are alike but for what an outline leaves out."""
    container = draw(_container)
    family = []
    for value, hostname in draw(
        st.lists(st.tuples(st.sampled_from(["1", "", "2"]), _hostnames), min_size=2, max_size=4)
    ):
        env = [{"name": "A", "value": value}, {"name": "B", "valueFrom": _field}]
        family.append({"containers": [{**container, "env": env, "volumeMounts": []}], "hostname": hostname})
    return [*family, *draw(st.lists(_specs, max_size=3))]


def _pod(spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "ns", "labels": {"a": "b"}}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def _read(raw: dict[str, Any]) -> tuple[Any, Any]:
    try:
        found, warnings, _ = read(raw, CALL)
    except BadRequest as refused:
        return None, str(refused).partition("as a Pod: ")[2]
    return found, warnings


def _anew(raw: dict[str, Any]) -> tuple[Any, Any]:
    findings = Findings()
    try:
        made = built_in(raw, CALL.row, findings)
    except WrongShape as wrong:
        return None, str(wrong)
    return defaulted(made, CALL.row), tuple(findings.strict)


@given(specs=_families())
def test_a_pod_is_read_as_if_none_had_been_read_before(specs: list[dict[str, Any]]) -> None:
    for spec in [*specs, *specs]:
        sent = copy.deepcopy(spec)
        assert _read(_pod(sent)) == _anew(_pod(spec))
        assert sent == spec


@given(specs=_families())
def test_a_spec_is_judged_as_if_none_had_been_judged_before(specs: list[dict[str, Any]]) -> None:
    made = [_anew(_pod(spec))[0] for spec in specs]
    for raw in [each for each in (*made, *made) if each]:
        assert list(spec_causes(raw["spec"], "spec")) == list(fresh_causes(raw["spec"], "spec"))


_labels = st.lists(st.dictionaries(st.sampled_from("ab"), st.sampled_from("12")), min_size=1, max_size=3)


@given(specs=_families(), labels=_labels)
def test_a_new_pod_is_owned_as_if_none_had_been_before(specs: list[Any], labels: list[dict[str, str]]) -> None:
    for spec, those in [(spec, those) for those in labels for spec in specs]:
        raw = _pod(spec)
        made = _anew({**raw, "metadata": {**raw["metadata"], "labels": those}})[0]
        if made:
            _check_owners(made, CALL.row, outline(spec))


_flat = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["", "x", 0, 1, False, None, {}, {"c": "d"}, ["e"]]))


@given(
    made=st.lists(
        st.fixed_dictionaries(
            {"metadata": st.fixed_dictionaries({"name": st.just("a")}, optional={"labels": _flat})},
            optional={
                "data": _flat,
                "reportingInstance": st.sampled_from(["", "x", None]),
                "eventTime": st.sampled_from([None, "t"]),
                "regarding": _flat,
            },
        ),
        min_size=2,
        max_size=6,
    ),
    row=st.sampled_from([kind_of("v1", "ConfigMap"), kind_of("v1", "Event")]),
)
@example(
    made=[{"metadata": {"name": "a"}, "reportingInstance": text} for text in ("x", "", None)],
    row=kind_of("v1", "Event"),
)
def test_a_new_object_is_owned_as_if_none_had_been_before(made: list[dict[str, Any]], row: Kind) -> None:
    for each in made:
        _check_owners({"kind": row.kind, "apiVersion": row.api_version, **each}, row, None)


def _check_owners(made: dict[str, Any], row: Kind, key: bytes | None) -> None:
    schema, ignored, blank = merge_schema(row), ignored_fields(row), blank_of(row)
    anew = ownership.update(None, made, manager=MANAGER, schema=schema, now=NOW, ignored=ignored, blank=blank)
    assert owned(GROUND, Call(row, "ns", manager=MANAGER), None, made, key) == anew


def test_pods_that_differ_in_values_and_names_alone_are_remembered() -> None:
    def spec(number: int) -> dict[str, Any]:
        env = [{"name": "RANK", "value": str(number)}, {"name": "POD", "valueFrom": _field}]
        token = f"kube-api-access-bcdf{number}"
        mounts = [{"name": token, "mountPath": "/token"}]
        container = {"name": "c", "image": "i:1", "env": env, "volumeMounts": mounts}
        volumes = [{"name": token, "emptyDir": {}}]
        return {"containers": [container], "hostname": f"host-{number}", "volumes": volumes}

    assert placed_outline(spec(2)) == placed_outline(spec(4))
    one, other = (_pod({**spec(number), "volumes": [], "restartPolicy": "OnFailure"}) for number in (2, 4))
    for raw in (one, other):
        raw["spec"]["containers"][0].pop("volumeMounts")
    made = read(one, CALL)[0]
    key = outline(other["spec"])
    assert key
    again = remembered(other["spec"], key)
    assert again
    assert again["containers"][0]["env"][0] == {"name": "RANK", "value": "4"}
    assert again["hostname"] == "host-4"
    again["containers"][0]["env"][1]["valueFrom"]["fieldRef"]["fieldPath"] = "spoiled"
    again["containers"].append("spoiled")
    assert read(one, CALL)[0] == made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"name": "A", "value": "1"}], ["A"]),
        ([{"name": "A", "value": "1"}], [{"name": "A"}]),
        ([{"name": "A", "value": "1"}], [{"name": "A", "value": ""}]),
        ([{"name": "A", "value": "1"}], [{"name": "A", "value": 1}]),
    ],
)
def test_what_is_read_otherwise_has_another_outline(one: list[Any], other: list[Any]) -> None:
    assert outline({"containers": [{"env": one}]}) != outline({"containers": [{"env": other}]})


def test_a_memo_forgets_the_oldest_and_is_bounded() -> None:
    memo: Memo[int] = Memo(2)
    for number in range(1, 7):
        memo.put(str(number), number)
        assert memo.get("1") == 1
    assert sum(memo.get(str(number)) is not None for number in range(1, 7)) <= 4
    assert memo.get("6") == 6
