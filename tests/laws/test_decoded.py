"""Laws of decoding what is stored: it is what any reader of JSON makes of it, whatever is shared on the way."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from trainplane.cluster.decoded import loads

_LONG: dict[str, Any] = {f"f:{'x' * 20}{number}": {} for number in range(20)}
_texts = st.sampled_from(["a", '"fieldsV1":{', '}},{"manager":"b"', "}}]", '},"subresource":"s"', "\\", '"'])
_nothing: st.SearchStrategy[dict[str, Any]] = st.just({})
_trees = st.sampled_from([{}, {"f:a": {}}, _LONG]) | st.recursive(
    _nothing, lambda below: st.dictionaries(_texts.map("v:{}".format), below, max_size=3)
).map(lambda tree: {**tree, "f:spec": {**_LONG, **tree}})
_entries = st.fixed_dictionaries(
    {"manager": _texts, "fieldsV1": _trees}, optional={"subresource": _texts, "time": _texts}
)
_objects = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": _texts}, optional={"managedFields": st.lists(_entries, max_size=3)})},
    optional={
        "spec": st.dictionaries(_texts, _texts | _trees | _entries, max_size=2),
        "list": st.lists(_entries, max_size=2),
    },
)


@given(raw=_objects)
def test_an_object_is_decoded_as_it_was_encoded(raw: dict[str, Any]) -> None:
    text = orjson.dumps(raw)
    assert loads(text) == orjson.loads(text) == raw


def test_objects_with_the_same_fields_share_them() -> None:
    def entries(name: str) -> list[Any]:
        entry = {"manager": "m", "time": name, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": _LONG}}
        raw = {"metadata": {"name": name, "managedFields": [entry, {**entry, "subresource": "status"}]}}
        found: list[Any] = loads(orjson.dumps(raw))["metadata"]["managedFields"]
        return found

    trees = [entry["fieldsV1"] for name in ("a", "b") for entry in entries(name)]
    assert len(trees) == 4
    assert all(tree is trees[0] for tree in trees)
