"""The document that `run` is given: judged before anything is made, then made, its job last."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused, count
from trainplane.cli.server import Session

if TYPE_CHECKING:
    from trainplane.api.meta import Raw
    from trainplane.api.ref import Ref

MANAGER = "trainplane-run"
"""Whose the fields are that a document gives to objects other than the job."""


def objects_of(file: str) -> "tuple[Raw, ...]":
    """The objects of a document, the one TrainJob last; raises Refused with all that is wrong, as `lint` says it."""
    from trainplane.api.documents import parse
    from trainplane.api.problem import Severity
    from trainplane.cli.inputs import is_kind, told_once
    from trainplane.cli.lint import UnusableError, read
    from trainplane.lint import lint, understand

    try:
        data = read(file)
    except UnusableError as error:
        raise Refused(f"{error.message}; name a document that can be read") from None
    wrong = [found for found in lint([(file, data)]).located if found.severity is Severity.ERROR]
    if wrong:
        raise Refused("\n".join([f"{file} has {count(len(wrong), 'error')}, and nothing was made:", *told_once(wrong)]))
    found = [understand(document) for document in parse(data, file).documents]
    jobs = [each for each in found if is_kind(each, "TrainJob")]
    if len(jobs) != 1:
        todo = "put each into a file of its own" if jobs else "add one, or create what is there with kubectl apply"
        raise Refused(f"{file} has {count(len(jobs), 'TrainJob')}, and `run` watches one; {todo}")
    for each in found:
        if each.kind is None:
            what = f"{each.hub.get('kind')} of {each.hub.get('apiVersion')}"
            raise Refused(f"{file}: `run` does not know {what}; create it with kubectl apply, and leave it out here")
    ordered = sorted(found, key=lambda each: each in jobs)
    return tuple(each.document.value for each in ordered)


async def send(session: Session, objects: "tuple[Raw, ...]") -> "Ref":
    """Make the job, and before it all else, which may be there already; raises Refused and what the API raises."""
    from trainplane.api.ref import Ref
    from trainplane.cluster.errors import AlreadyExists

    *others, job = (_placed(raw, session.home) for raw in objects)
    for raw in others:
        if raw["metadata"].get("name"):
            await session.client.apply(raw, manager=MANAGER)
        else:
            await session.client.create(raw)
    try:
        made = await session.client.create(job)
    except AlreadyExists:
        name = job["metadata"]["name"]
        raise Refused(
            f"there is a job {name} already; delete it with: {session.command(f'delete {name}')}, "
            "or write metadata.generateName in place of metadata.name"
        ) from None
    for warning in session.client.take_warnings():
        click.echo(f"warning: {warning}", err=True)
    return Ref.of(made)._replace(group="trainer.kubeflow.org")


def _placed(raw: "Raw", namespace: str) -> "Raw":
    """The object in a namespace, where its kind has namespaces and it names none."""
    from trainplane.api.kinds import kind_of

    row = kind_of(raw["apiVersion"], raw["kind"])
    where = {"namespace": namespace} if row and row.namespaced else {}
    return {**raw, "metadata": {**where, **(raw.get("metadata") or {})}}
