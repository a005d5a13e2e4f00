"""The dataset and model initializers: what a TrainJob says of them reaches their container, and no other."""

from typing import Any

import pytest

from tests.trainjob.worlds import container, env, job, replicated, runtime, trainjob
from trainplane.trainjob.pipeline import build
from trainplane.trainjob.plan import Plan

NODE = replicated("node", {"name": "node", "image": "train:1"}, step="trainer")


def fetched(what: str, settings: Any, **template: Any) -> Plan:
    name = f"{what}-initializer"
    first = replicated(name, {"name": name, "image": "fetch:1", **template}, step=name, replicas=1)
    raw = trainjob()
    if settings is not None:
        raw["spec"]["initializer"] = {what: settings}
    return build(raw, runtime({"torch": {}}, first, NODE))


@pytest.mark.parametrize("what", ["dataset", "model"])
def test_settings_reach_the_initializer(what: str) -> None:
    settings = {
        "storageUri": "hf://org/name",
        "env": [{"name": "TOKEN", "value": "t"}],
        "secretRef": {"name": "credentials"},
    }
    plan = fetched(what, settings, env=[{"name": "STORAGE_URI", "value": "old"}, {"name": "KEEP", "value": "1"}])
    name = f"{what}-initializer"
    assert env(plan, name) == {"STORAGE_URI": "hf://org/name", "KEEP": "1", "TOKEN": "t"}
    assert container(plan, name)["envFrom"] == [{"secretRef": {"name": "credentials"}}]
    assert "STORAGE_URI" not in env(plan, "node")


def test_a_variable_beats_the_storage_uri_of_the_same_name() -> None:
    plan = fetched("dataset", {"storageUri": "hf://a/b", "env": [{"name": "STORAGE_URI", "value": "s3://c"}]})
    assert env(plan, "dataset-initializer")["STORAGE_URI"] == "s3://c"


def test_the_templates_own_secrets_stay() -> None:
    plan = fetched("dataset", {"secretRef": {"name": "mine"}}, envFrom=[{"configMapRef": {"name": "theirs"}}])
    sources = container(plan, "dataset-initializer")["envFrom"]
    assert sources == [{"configMapRef": {"name": "theirs"}}, {"secretRef": {"name": "mine"}}]


@pytest.mark.parametrize("settings", [None, {}])
def test_without_settings_the_runtimes_stand(settings: Any) -> None:
    plan = fetched("dataset", settings, env=[{"name": "STORAGE_URI", "value": "old"}])
    assert env(plan, "dataset-initializer") == {"STORAGE_URI": "old"}
    assert job(plan, "dataset-initializer")["template"]["spec"]["parallelism"] == 1
