"""What people do with the `kubernetes` client; played by the Python of an environment that has it."""

import threading

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.stream import stream
from kubernetes.utils import create_from_dict
from stories import play

config.load_kube_config()
core, batch, custom = client.CoreV1Api(), client.BatchV1Api(), client.CustomObjectsApi()
TRAINER = {"group": "trainer.kubeflow.org", "version": "v1alpha1", "namespace": "default", "plural": "trainjobs"}


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"made": "here"}), data=data)


def train_job(name: str) -> dict:
    spec = {"suspend": True, "runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}}
    kind = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def refused(code: int, call, *args, **kwargs) -> str:
    """The reason of a refusal with this code."""
    try:
        call(*args, **kwargs)
    except ApiException as error:
        found = error
    else:
        raise AssertionError(f"not refused with {code}")
    assert found.status == code, found
    return found.body.decode() if isinstance(found.body, bytes) else found.body or str(found)


def versions_and_groups() -> None:
    assert client.VersionApi().get_code().git_version.startswith("v1.")
    groups = [group.name for group in client.ApisApi().get_api_versions().groups]
    assert "trainer.kubeflow.org" in groups
    assert "pods" in [row.name for row in core.get_api_resources().resources]


def config_maps_are_made_read_changed_and_deleted() -> None:
    made = core.create_namespaced_config_map("default", config_map("typed", a="1"))
    assert made.metadata.uid
    assert core.read_namespaced_config_map("typed", "default").data == {"a": "1"}
    core.patch_namespaced_config_map("typed", "default", {"data": {"b": "2"}})
    made = core.read_namespaced_config_map("typed", "default")
    made.data["c"] = "3"
    replaced = core.replace_namespaced_config_map("typed", "default", made)
    assert replaced.data == {"a": "1", "b": "2", "c": "3"}
    made.metadata.resource_version = "1"
    assert "the object has been modified" in refused(409, core.replace_namespaced_config_map, "typed", "default", made)
    listed = core.list_namespaced_config_map("default", label_selector="made in (here, there)")
    assert [item.metadata.name for item in listed.items] == ["typed"]
    assert core.delete_namespaced_config_map("typed", "default")["status"] == "Success"
    assert 'configmaps \\"typed\\" not found' in refused(404, core.read_namespaced_config_map, "typed", "default")


def json_and_apply_patches() -> None:
    core.create_namespaced_config_map("default", config_map("patched", a="1"))
    operations = [{"op": "replace", "path": "/data/a", "value": "2"}]
    assert core.patch_namespaced_config_map("patched", "default", operations).data == {"a": "2"}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "patched"}, "data": {"a": "3"}}
    call = {"field_manager": "tester", "_content_type": "application/apply-patch+yaml"}
    assert "Apply failed with 1 conflict" in refused(
        409, core.patch_namespaced_config_map, "patched", "default", applied, **call
    )
    forced = core.patch_namespaced_config_map("patched", "default", applied, force=True, **call)
    assert forced.data == {"a": "3"}
    core.delete_namespaced_config_map("patched", "default")


def pages() -> None:
    for number in range(5):
        core.create_namespaced_config_map("default", config_map(f"page-{number}"))
    found, after = [], None
    while True:
        page = core.list_namespaced_config_map("default", label_selector="made", limit=2, _continue=after)
        found += [item.metadata.name for item in page.items]
        after = page.metadata._continue
        if not after:
            break
    assert found == [f"page-{number}" for number in range(5)]
    core.delete_collection_namespaced_config_map("default", label_selector="made")
    assert core.list_namespaced_config_map("default", label_selector="made").items == []


def a_watch() -> None:
    version = core.list_namespaced_config_map("default").metadata.resource_version

    def change() -> None:
        core.create_namespaced_config_map("default", config_map("watched"))
        core.patch_namespaced_config_map("watched", "default", {"data": {"a": "1"}})
        core.delete_namespaced_config_map("watched", "default")

    worker = threading.Timer(0.2, change)
    worker.start()
    watcher, seen = watch.Watch(), []
    for event in watcher.stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=120
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watcher.stop()
    worker.join()
    assert seen == [("ADDED", "watched"), ("MODIFIED", "watched"), ("DELETED", "watched")], seen
    old = watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version="1")
    refused(410, next, old)


def custom_objects() -> None:
    custom.create_namespaced_custom_object(body=train_job("custom"), **TRAINER)
    assert "already exists" in refused(409, custom.create_namespaced_custom_object, body=train_job("custom"), **TRAINER)
    got = custom.get_namespaced_custom_object(name="custom", **TRAINER)
    assert got["spec"]["trainer"]["numNodes"] == 2
    labels = {"metadata": {"labels": {"team": "a"}}}
    custom.patch_namespaced_custom_object(name="custom", body=labels, **TRAINER)
    listed = custom.list_namespaced_custom_object(label_selector="team=a", **TRAINER)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["custom"]
    status = {"status": {"trainerStatus": {"progressPercentage": 40, "lastUpdatedTime": "2026-01-31T00:00:00Z"}}}
    custom.patch_namespaced_custom_object_status(name="custom", body=status, **TRAINER)
    got = custom.get_namespaced_custom_object_status(name="custom", **TRAINER)
    assert got["status"]["trainerStatus"]["progressPercentage"] == 40
    wrong = {**train_job("wrong"), "spec": {"runtimeRef": {"name": "none"}}}
    assert "spec.runtimeRef" in refused(422, custom.create_namespaced_custom_object, body=wrong, **TRAINER)
    custom.delete_namespaced_custom_object(name="custom", **TRAINER)


def a_job_runs_to_its_end() -> None:
    annotations = {"simulate.trainplane.dev/seconds": "0.2"}
    pod = client.V1PodSpec(containers=[client.V1Container(name="c", image="example.test/c")], restart_policy="Never")
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(annotations=annotations), spec=pod)
    body = client.V1Job(metadata=client.V1ObjectMeta(name="job"), spec=client.V1JobSpec(template=template))
    batch.create_namespaced_job("default", body)
    watcher = watch.Watch()
    chosen = {"field_selector": "metadata.name=job", "timeout_seconds": 120}
    for event in watcher.stream(batch.list_namespaced_job, "default", **chosen):
        if event["object"].status.succeeded:
            watcher.stop()
    assert batch.read_namespaced_job("job", "default").status.succeeded == 1
    pods = core.list_namespaced_pod("default", label_selector="job-name=job").items
    assert [each.status.phase for each in pods] == ["Succeeded"]
    batch.delete_namespaced_job("job", "default", propagation_policy="Foreground")


def a_pod_is_evicted_and_bound() -> None:
    spec = client.V1PodSpec(scheduler_name="nobody", containers=[client.V1Container(name="c", image="example.test/c")])
    for name in ("evicted", "bound"):
        core.create_namespaced_pod("default", client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=spec))
    core.create_namespaced_pod_eviction(
        "evicted", "default", client.V1Eviction(metadata=client.V1ObjectMeta(name="evicted"))
    )
    refused(404, core.read_namespaced_pod, "evicted", "default")
    target = client.V1ObjectReference(kind="Node", name="node-0")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="bound"), target=target)
    core.create_namespaced_pod_binding("bound", "default", binding, _preload_content=False)
    assert core.read_namespaced_pod("bound", "default").spec.node_name == "node-0"
    core.delete_namespaced_pod("bound", "default", grace_period_seconds=0)


def who_may() -> None:
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="create", resource="pods", namespace="default")
        )
    )
    assert client.AuthorizationV1Api().create_self_subject_access_review(review).status.allowed
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("default", "default", request).status.token
    assert token.count(".") == 2


def the_dynamic_client() -> None:
    dynamic = DynamicClient(client.ApiClient())
    jobs = dynamic.resources.get(api_version="trainer.kubeflow.org/v1alpha1", kind="TrainJob")
    jobs.create(body=train_job("dynamic"), namespace="default")
    assert jobs.get(name="dynamic", namespace="default").spec.trainer.numNodes == 2
    applied = {**train_job("dynamic"), "metadata": {"name": "dynamic", "labels": {"a": "b"}}}
    jobs.server_side_apply(body=applied, namespace="default", field_manager="me", force_conflicts=True)
    assert jobs.get(name="dynamic", namespace="default").metadata.labels.a == "b"
    jobs.delete(name="dynamic", namespace="default")
    create_from_dict(client.ApiClient(), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "from-dict"}})


def a_command_in_a_pod_that_is_nowhere() -> None:
    spec = client.V1PodSpec(scheduler_name="nobody", containers=[client.V1Container(name="c", image="example.test/c")])
    core.create_namespaced_pod("default", client.V1Pod(metadata=client.V1ObjectMeta(name="nowhere"), spec=spec))
    # The WebSocket library does not tell the code of a refusal, but what it says.
    said = refused(0, stream, core.connect_get_namespaced_pod_exec, "nowhere", "default", command=["ls"], stdout=True)
    assert "pod nowhere does not have a host assigned" in said
    assert core.read_namespaced_pod_log("nowhere", "default") in ("", None)


play(
    versions_and_groups,
    config_maps_are_made_read_changed_and_deleted,
    json_and_apply_patches,
    pages,
    a_watch,
    custom_objects,
    a_job_runs_to_its_end,
    a_pod_is_evicted_and_bound,
    who_may,
    the_dynamic_client,
    a_command_in_a_pod_that_is_nowhere,
)
