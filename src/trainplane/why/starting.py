"""Causes of pods that have a node and do not run: the node, the image, settings, volumes, crashes, probes."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from trainplane.api.core import DISRUPTION_TARGET, FAILED, READY
from trainplane.api.meta import Raw
from trainplane.api.nodes import REMOVING_NODE
from trainplane.api.raw import look
from trainplane.api.sentences import counted
from trainplane.reconcile.view import Ref
from trainplane.why.cause import Cause
from trainplane.why.ended import exit_of, first_failed, how_failed
from trainplane.why.scene import (
    PATIENCE,
    Scene,
    began,
    condition,
    containers,
    ended,
    seen,
    stage,
    stage_of,
    time_of,
    true_condition,
)
from trainplane.why.sentence import is_or_are, listed, quoted

PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
CREATE = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError")
_MISSING = re.compile(r"(?P<kind>configmap|secret) \"(?P<name>[^\"]+)\" not found", re.IGNORECASE)
_KEY = re.compile(r"couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret) (?:[^/\s]+/)?(?P<name>[^\s\"]+)")
_KINDS = {"configmap": "ConfigMap", "secret": "Secret"}


def node_lost(scene: Scene) -> Cause | None:
    """A node that pods of the job are on is not there or does not answer."""
    for name in sorted({str(node) for pod in scene.pods if (node := look(pod, "spec", "nodeName"))}):
        node = scene.view.get(Ref("", "Node", "", name))
        ready = condition(node, READY)
        if node is None and not any(True for _ in scene.view.all("", "Node")):
            # Whoever may not see nodes must not call them lost.
            return None
        if node is not None and (ready is None or ready.get("status") == "True"):
            continue
        there = [pod for pod in scene.pods if look(pod, "spec", "nodeName") == name]
        state = "is gone" if node is None else f"is not ready ({quoted((ready or {}).get('message'))})"
        return Cause(
            "NodeLost",
            f"the node {name} {state}, and {len(there)} of {counted(len(scene.pods), 'pod')} of the job "
            f"{is_or_are(len(there))} on it",
            f"bring it back, or delete it so that its pods start elsewhere: kubectl delete node {name}"
            if node is not None
            else "its pods end within a minute and start elsewhere; where they do not, see that the controllers run",
            time_of((ready or {}).get("lastTransitionTime"))
            or (gone_since(scene, name, there) if node is None else None),
            (Ref("", "Node", "", name), *map(Ref.of, there)),
        )
    return None


def gone_since(scene: Scene, node: str, pods: list[Raw]) -> datetime | None:
    """When a node went that is no more: by the last event about it, or else by the first thing said of its pods."""
    events = [
        when
        for event in scene.view.all("events.k8s.io", "Event")
        if event.get("reason") == REMOVING_NODE
        and (look(event, "regarding", "kind"), look(event, "regarding", "name")) == ("Node", node)
        and (when := began(event))
    ]
    return max(events, default=None) or min(filter(None, map(left_alone, pods)), default=None)


def left_alone(pod: Raw) -> datetime | None:
    """Since when a pod is known to have lost its node: it was marked, is no longer ready, or is on its way out."""
    unready = condition(pod, READY) or {}
    said = [
        (true_condition(pod, DISRUPTION_TARGET) or {}).get("lastTransitionTime"),
        unready.get("lastTransitionTime") if unready.get("status") == "False" else None,
    ]
    times = [time_of(text) for text in said if text]
    if going := time_of(pod["metadata"].get("deletionTimestamp")):
        # What is written there is when its grace ends.
        times.append(going - timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0))
    return min(filter(None, times), default=None)


def preempted(scene: Scene) -> Cause | None:
    """Pods of the job had to make room for more important ones."""
    gone = [
        pod
        for pod in scene.all_pods
        if (true_condition(pod, DISRUPTION_TARGET) or {}).get("reason") == "PreemptionByScheduler"
    ]
    if not gone or not (scene.waiting or len(gone) == len(scene.pods)):
        return None
    told = true_condition(gone[0], DISRUPTION_TARGET) or {}
    priority = look(gone[0], "spec", "priorityClassName") or look(gone[0], "spec", "priority") or 0
    return Cause(
        "Preempted",
        f"{counted(len(gone), 'pod')} of the job had to make room for pods of a higher priority than {priority}: "
        f"{quoted(told.get('message'))}",
        "wait until there is room again, or give the job a higher priorityClassName",
        time_of(told.get("lastTransitionTime")),
        tuple(map(Ref.of, gone)),
    )


def evicted(scene: Scene) -> Cause | None:
    """A node ran short of something and sent a pod away."""
    gone = [pod for pod in scene.all_pods if look(pod, "status", "reason") == "Evicted"]
    found = next((pod for pod in gone if scene.failed or any(is_short(scene, job) for job in scene.jobs)), None)
    if found is None:
        return None
    name, node = found["metadata"]["name"], look(found, "spec", "nodeName") or "its node"
    return Cause(
        "Evicted",
        f"{node} sent the pod {name} away: {quoted(look(found, 'status', 'message'))}",
        "request as much memory and disk as the pod uses (spec.trainer.resourcesPerNode), so that others go first",
        time_of(look(found, "status", "startTime")),
        (Ref.of(found),),
    )


def image_not_pulled(scene: Scene) -> Cause | None:
    """An image cannot be pulled."""
    for pods, status, waiting in stuck(scene, lambda reason: reason in PULL):
        image = status.get("image") or image_of(pods[0], status["name"])
        return Cause(
            "ImageNotPulled",
            f"the image {image} of {counted(len(pods), 'pod')} of {stage(pods[0])} cannot be pulled "
            f"({waiting['reason']}): {quoted(waiting.get('message'))}",
            "correct its name or tag, or name a Secret that may pull it under imagePullSecrets",
            time_of(look(pods[0], "status", "startTime")),
            tuple(map(Ref.of, pods)),
        )
    return None


def image_of(pod: Raw, container: str) -> str:
    """The image that a container asks for."""
    every = [*(look(pod, "spec", "initContainers") or ()), *(look(pod, "spec", "containers") or ())]
    return next((str(one.get("image", "")) for one in every if one.get("name") == container), "")


def settings_missing(scene: Scene) -> Cause | None:
    """A ConfigMap or Secret that a pod needs is not there, or lacks a key."""
    for pod, message, when in complaints(scene):
        if found := _MISSING.search(message):
            kind, name, what = _KINDS[found["kind"].lower()], found["name"], "is not there"
        elif found := _KEY.search(message):
            kind, name, what = found["kind"], found["name"], f"has no key {found['key']}"
        else:
            continue
        word = "configmap" if kind == "ConfigMap" else "secret generic"
        todo = f"create it: kubectl create {word} {name} -n {scene.namespace} --from-literal=KEY=VALUE"
        return Cause(
            f"{kind}Missing",
            f"the {kind} {name}, which the pod {pod['metadata']['name']} of {stage(pod)} needs, {what}",
            todo if what == "is not there" else f"add the key: kubectl edit {kind.lower()} {name} -n {scene.namespace}",
            time_of(when),
            (Ref("", kind, scene.namespace, name), Ref.of(pod)),
        )
    return None


def complaints(scene: Scene) -> Iterator[tuple[Raw, str, str | None]]:
    """What is said of pods whose containers cannot be made, and since when."""
    for pod in scene.pods:
        for status, _ in containers(pod):
            waiting = look(status, "state", "waiting") or {}
            if waiting.get("reason") in CREATE:
                yield pod, str(waiting.get("message", "")), look(pod, "status", "startTime")
        if not is_running(pod):
            for event in scene.events(pod, "FailedMount", "FailedAttachVolume")[-1:]:
                yield pod, str(event.get("note", "")), seen(event)


def is_running(pod: Raw) -> bool:
    """Whether a container of the pod has ever run."""
    return any(look(status, "state", "running") or ended(status) for status, _ in containers(pod))


def volume_not_mounted(scene: Scene) -> Cause | None:
    """A volume cannot be attached or mounted."""
    for pod in scene.pods:
        events = [] if is_running(pod) else scene.events(pod, "FailedMount", "FailedAttachVolume")
        for event in events[-1:]:
            return Cause(
                "VolumeNotMounted",
                f"a volume of the pod {pod['metadata']['name']} cannot be mounted on {look(pod, 'spec', 'nodeName')}: "
                f"{quoted(event.get('note'))}",
                "correct the volume in the runtime, or see that what it names is there",
                time_of(seen(event)),
                (Ref.of(pod),),
            )
    return None


def container_not_created(scene: Scene) -> Cause | None:
    """A container cannot be made for another reason."""
    for pods, status, waiting in stuck(scene, lambda reason: reason in CREATE):
        return Cause(
            "ContainerNotCreated",
            f"the container {status['name']} of {counted(len(pods), 'pod')} of {stage(pods[0])} cannot be started "
            f"({waiting['reason']}): {quoted(waiting.get('message'))}",
            "correct what is named there in the runtime, or in spec.trainer",
            time_of(look(pods[0], "status", "startTime")),
            tuple(map(Ref.of, pods)),
        )
    return None


def stuck(scene: Scene, about: Callable[[str], bool]) -> Iterator[tuple[list[Raw], Raw, Raw]]:
    """The pods whose container of the same name waits for such a reason, with its status and what it waits for."""
    for pod in scene.pods:
        for status, _ in containers(pod):
            waiting = look(status, "state", "waiting") or {}
            if about(str(waiting.get("reason", ""))):
                same = [
                    other
                    for other in scene.pods
                    if stage_of(other) == stage_of(pod)
                    and any(
                        one["name"] == status["name"] and about(str(look(one, "state", "waiting", "reason") or ""))
                        for one, _ in containers(other)
                    )
                ]
                yield same, status, waiting


def out_of_memory(scene: Scene) -> Cause | None:
    """A container used more memory than it may."""
    hit = [
        (pod, status, end)
        for pod in scene.all_pods
        for status, _ in containers(pod)
        if (end := ended(status)) and end.get("reason") == "OOMKilled"
    ]
    if not hit:
        return None
    pod, status, end = hit[0]
    limit = next(
        (
            look(one, "resources", "limits", "memory")
            for one in look(pod, "spec", "containers") or ()
            if one.get("name") == status["name"]
        ),
        None,
    )
    of = f"its limit of {limit}" if limit else "its node could give"
    more = "raise resourcesPerNode.limits.memory" if limit else "say in resourcesPerNode.requests.memory what it needs"
    times = int(status.get("restartCount") or 0)
    again = f", {counted(times, 'restart')}" if times else ""
    return Cause(
        "OutOfMemory",
        f"the container {status['name']} of the pod {pod['metadata']['name']} of {stage(pod)} used more memory than "
        f"{of} and was killed (exit code {end.get('exitCode', 137)}{again})",
        f"{more}, or use less: a smaller batch, fewer workers, sharding",
        time_of(end.get("finishedAt")),
        tuple({Ref.of(pod): None for pod, _, _ in hit}),
    )


def init_container_failing(scene: Scene) -> Cause | None:
    """A container that must end well before the others start does not."""
    return failing(scene, first=True, id_="InitContainerFailing")


def crash_loop(scene: Scene) -> Cause | None:
    """A container ends badly and is started again and again."""
    return failing(scene, first=False, id_="CrashLoop")


def failing(scene: Scene, *, first: bool, id_: str) -> Cause | None:
    """A container that ended with an exit code that is not 0, in a pod that has not ended for good."""
    for pod in scene.pods:
        for status, before in containers(pod):
            end = ended(status)
            if before is not first or not end or not end.get("exitCode") or look(status, "state", "running"):
                continue
            name, times = pod["metadata"]["name"], int(status.get("restartCount") or 0)
            role = "which must end well before the others start" if first else f"started {counted(times + 1, 'time')}"
            return Cause(
                id_,
                f"the pod {name} of {stage(pod)} fails with {exit_of(status, end)}, {role}",
                f"read its log, and correct what fails: kubectl logs {name} -n {scene.namespace} "
                f"-c {status['name']} --previous",
                time_of(end.get("finishedAt")),
                (Ref.of(pod),),
            )
    return None


def pod_failed(scene: Scene) -> Cause | None:
    """A pod failed, and its Job has not got it to run since."""
    for job in scene.jobs:
        failed = [pod for pod in scene.all_pods if is_owned_by(pod, job) and look(pod, "status", "phase") == FAILED]
        if not failed or not is_short(scene, job):
            continue
        pod = first_failed(scene) or failed[0]
        ends = ((ended(status) or {}).get("finishedAt") for status, _ in containers(pod))
        limit = look(job, "spec", "backoffLimit")
        of = f" of {int(limit) + 1} tries that backoffLimit allows" if limit else ""
        then = "is not tried again, for backoffLimit is 0" if limit == 0 else f"is tried again ({len(failed)}{of})"
        return Cause(
            "PodFailed",
            f"{how_failed(pod)}, and {then}",
            f"read its log, and correct what fails: kubectl logs {pod['metadata']['name']} -n {scene.namespace}",
            time_of(max(filter(None, ends), default=look(pod, "status", "startTime"))),
            (Ref.of(pod), Ref.of(job)),
        )
    return None


def is_short(scene: Scene, job: Raw) -> bool:
    """Whether a Job has fewer pods that are ready than it wants: then those that failed have not been made good."""
    ready = sum(1 for pod in scene.pods if is_owned_by(pod, job) and true_condition(pod, READY) is not None)
    return ready < int(look(job, "spec", "parallelism") or 1)


def is_owned_by(pod: Raw, job: Raw) -> bool:
    """Whether a pod is one of a Job's."""
    return any(one.get("uid") == job["metadata"].get("uid") for one in pod["metadata"].get("ownerReferences") or ())


def probe_failing(scene: Scene) -> Cause | None:
    """A container runs, but a probe says that it is not ready, or has it killed."""
    sick = [
        (pod, event)
        for pod in scene.pods
        if true_condition(pod, READY) is None
        for event in scene.events(pod, "Unhealthy")[-1:]
    ]
    if not sick:
        return None
    pod, event = sick[0]
    return Cause(
        "ProbeFailing",
        f"{counted(len(sick), 'pod')} of {stage(pod)} {is_or_are(len(sick))} up, but not ready "
        f"({listed(str(one['metadata']['name']) for one, _ in sick)}): {quoted(event.get('note'))}",
        "correct the probe or what it asks, or give it more time (initialDelaySeconds, failureThreshold)",
        time_of(seen(event)),
        tuple(Ref.of(one) for one, _ in sick),
    )


def pods_starting(scene: Scene) -> Cause | None:
    """Pods have a node, and their containers have not come up for a long time."""
    slow = [
        pod
        for pod in scene.pods
        if look(pod, "spec", "nodeName")
        and look(pod, "status", "phase") == "Pending"
        and (start := time_of(look(pod, "status", "startTime") or pod["metadata"].get("creationTimestamp")))
        and scene.now - start > PATIENCE
    ]
    if not slow:
        return None
    nodes = listed(sorted({str(look(pod, "spec", "nodeName")) for pod in slow}))
    return Cause(
        "PodsStarting",
        f"{len(slow)} of {counted(len(scene.pods), 'pod')} of the job {is_or_are(len(slow))} still being started "
        f"on {nodes}",
        "large images take their time; see what the node says: "
        f"kubectl describe pod {slow[0]['metadata']['name']} -n {scene.namespace}",
        time_of(look(slow[0], "status", "startTime")),
        tuple(map(Ref.of, slow)),
    )
