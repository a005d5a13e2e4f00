"""Causes of jobs that have failed: the deadline, restarts that are used up, the pod that failed first."""

from trainplane.api.core import DISRUPTION_TARGET, FAILED
from trainplane.api.failure import ADVICE, ExitClass, first_failure
from trainplane.api.failure import CONDITION as FAILURE
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.sentences import counted
from trainplane.reconcile.view import Ref
from trainplane.why.cause import Cause
from trainplane.why.scene import Scene, condition, containers, ended, stage, time_of, true_condition
from trainplane.why.sentence import quoted


def deadline_exceeded(scene: Scene) -> Cause | None:
    """The job was stopped by its own deadline."""
    failed = scene.failed
    if failed is None or failed.get("reason") != "DeadlineExceeded":
        return None
    limit = look(scene.job, "spec", "activeDeadlineSeconds")
    return Cause(
        "DeadlineExceeded",
        f"the job was stopped after {limit} s, which is its spec.activeDeadlineSeconds",
        "create it again with a larger activeDeadlineSeconds, or without one",
        time_of(failed.get("lastTransitionTime")),
        (Ref.of(scene.job),),
    )


def restarts_exhausted(scene: Scene) -> Cause | None:
    """The job was started again as often as it may be, and failed once more."""
    failed = true_condition(scene.jobset, "Failed")
    if scene.failed is None or failed is None or failed.get("reason") != "ReachedMaxRestarts":
        return None
    most = look(scene.jobset, "spec", "failurePolicy", "maxRestarts") or 0
    pod = first_failed(scene)
    how = f": {how_failed(pod)}" if pod else f": {quoted(failed.get('message'))}"
    objects = (Ref.of(scene.jobset or scene.job), *([Ref.of(pod)] if pod else []))
    log = f"read the log (kubectl logs {pod['metadata']['name']} -n {scene.namespace}), " if pod else ""
    return Cause(
        "RestartsExhausted",
        f"the job failed again after {counted(most, 'restart')}, "
        f"which is all that failurePolicy.maxRestarts allows{how}",
        f"{log}correct what fails, and create the job again, or raise maxRestarts in the runtime",
        time_of(failed.get("lastTransitionTime")),
        objects,
    )


def job_failed(scene: Scene) -> Cause | None:
    """The job failed for a pod of it, or for what its conditions say."""
    if scene.failed is None:
        return None
    pod = first_failed(scene)
    since = time_of(scene.failed.get("lastTransitionTime"))
    if pod is None:
        return Cause(
            "JobFailed",
            f"the job {scene.name} failed: {quoted(scene.failed.get('message') or scene.failed.get('reason'))}",
            f"see what happened (trainplane events {scene.name} -n {scene.namespace}), correct it, "
            "and create the job again",
            since,
            (Ref.of(scene.job),),
        )
    return Cause(
        "JobFailed",
        f"the job failed because {how_failed(pod)}",
        f"read the log (kubectl logs {pod['metadata']['name']} -n {scene.namespace}), {advice(pod)}, "
        "and create the job again",
        since,
        (Ref.of(pod),),
    )


def first_failed(scene: Scene) -> Raw | None:
    """The pod that failed first by itself: the others often fail because of it."""
    failed = [pod for pod in scene.all_pods if look(pod, "status", "phase") == FAILED]
    by_itself = [pod for pod in failed if condition(pod, DISRUPTION_TARGET) is None]
    if by_itself and (first := first_failure(by_itself)):
        return next(pod for pod in by_itself if pod["metadata"]["name"] == first.pod)
    return min(failed, key=lambda pod: (condition(pod, DISRUPTION_TARGET) is not None, _when(pod)), default=None)


def advice(pod: Raw) -> str:
    """What to do about a failed pod, by what its node says of it."""
    said = condition(pod, FAILURE) or {}
    return ADVICE[ExitClass(said["reason"])] if said.get("reason") in set(ExitClass) else "correct what fails"


def _when(pod: Raw) -> str:
    ends = [str(end["finishedAt"]) for status, _ in containers(pod) if (end := ended(status)) and end.get("finishedAt")]
    return min(ends, default="~")


def how_failed(pod: Raw) -> str:
    """How a pod failed: its container's exit code and last words."""
    where = f"the pod {pod['metadata']['name']} of {stage(pod)}"
    for status, _ in containers(pod):
        end = ended(status)
        if end and end.get("exitCode"):
            said = condition(pod, FAILURE)
            more = f" on {look(pod, 'spec', 'nodeName')} ({said['message']})" if said else ""
            return f"{where}{more} ended with {exit_of(status, end)}"
    what = look(pod, "status", "reason") or "no reason given"
    return f"{where} failed ({quoted(what)}): {quoted(look(pod, 'status', 'message'))}".removesuffix(": ")


def exit_of(status: Raw, end: Raw) -> str:
    """A container's exit code, with what it means and its last words where it left any."""
    code = int(end.get("exitCode") or 0)
    reason = str(end.get("reason") or "")
    meaning = reason if reason not in ("", "Error", "Completed") else SIGNALS.get(code, "")
    words = quoted(end.get("message"))
    said = f', saying "{words}"' if words else ""
    return f"exit code {code}{f' ({meaning})' if meaning else ''} of the container {status['name']}{said}"


SIGNALS = {
    126: "the command cannot be executed",
    127: "the command was not found",
    134: "aborted",
    137: "killed",
    139: "segmentation fault",
    143: "terminated",
}
"""What the usual exit codes mean."""
