"""What says nothing in a template is left out, and what does is not."""

from typing import Any

import pytest

from trainplane.trainjob.empty import spelled, told


@pytest.mark.parametrize(
    ("written", "left"),
    [
        pytest.param({"args": [], "tty": False, "workingDir": ""}, {}, id="empty fields"),
        pytest.param({"nodeSelector": {}, "emptyDir": {}}, {"emptyDir": {}}, id="a volume may be empty"),
        pytest.param(
            {"labels": {"tty": "", "value": ""}}, {"labels": {"tty": "", "value": ""}}, id="an author's words"
        ),
        pytest.param({"containers": []}, {"containers": []}, id="what must be there stays to be refused"),
        pytest.param({"optional": False, "replicas": 0}, {"optional": False, "replicas": 0}, id="no and none are said"),
    ],
)
def test_what_says_nothing_is_left_out(written: dict[str, Any], left: dict[str, Any]) -> None:
    assert told({"a": [written]}) == {"a": [left]}


def test_a_patch_can_silence_what_a_template_says() -> None:
    patch = {"env": [{"name": "A", "value": ""}], "volumeMounts": []}
    assert told(patch, {}) == {"env": [{"name": "A", "value": ""}]}


@pytest.mark.parametrize(
    ("written", "given"),
    [
        pytest.param({"name": "A"}, {"name": "A", "value": ""}, id="no value is an empty one"),
        pytest.param(
            {"name": "A", "value": "1", "valueFrom": {"x": {}}}, {"name": "A", "valueFrom": {"x": {}}}, id="both"
        ),
        pytest.param(
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {
                "name": "A",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "", "divisor": "0"}},
            },
            id="a resource",
        ),
    ],
)
def test_a_variable_has_a_value_or_a_source(written: dict[str, Any], given: dict[str, Any]) -> None:
    assert spelled(written) == given
