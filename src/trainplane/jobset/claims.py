"""spec.volumeClaimPolicies: claims that the JobSet makes, and the volumes by which Jobs reach them."""

from collections.abc import Iterator

from trainplane.api.jobset import JOBSET_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.fields import containers, name_of, namespace_of, owner
from trainplane.reconcile.decision import Create
from trainplane.reconcile.view import Ref, View

CREATION_FAILED = "PVCCreationFailed"


def templates(jobset: Raw) -> Iterator[tuple[Raw, bool]]:
    """Each claim's template, and whether the claim goes with the JobSet."""
    for policy in look(jobset, "spec", "volumeClaimPolicies") or ():
        goes = (look(policy, "retentionPolicy", "whenDeleted") or "Delete") == "Delete"
        for template in policy.get("templates") or ():
            yield template, goes


def claim_name(template: Raw, jobset: Raw) -> str:
    """The name of the claim made from a template."""
    return f"{name_of(template)}-{name_of(jobset)}"


def claim(template: Raw, jobset: Raw, *, goes: bool) -> Raw:
    """The claim made from a template."""
    given = template["metadata"]
    metadata: Raw = {
        "name": claim_name(template, jobset),
        "namespace": namespace_of(jobset),
        "labels": {**(given.get("labels") or {}), JOBSET_NAME: name_of(jobset)},
    }
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    if goes:
        metadata["ownerReferences"] = [owner(jobset)]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def missing_claims(jobset: Raw, view: View) -> Iterator[Create]:
    """The claims that are not there yet; one of that name that exists serves."""
    for template, goes in templates(jobset):
        made = claim(template, jobset, goes=goes)
        if view.get(Ref.of(made)) is None:
            yield Create(made, complaint=CREATION_FAILED, shared=True)


def with_volumes(pod: Raw, jobset: Raw) -> Raw:
    """The pod's spec with a volume for each claim that one of its containers mounts."""
    mounted = {mount["name"] for one in containers(pod) for mount in one.get("volumeMounts") or ()}
    added = [
        {"name": name_of(template), "persistentVolumeClaim": {"claimName": claim_name(template, jobset)}}
        for template, _ in templates(jobset)
        if name_of(template) in mounted
    ]
    return {**pod, "volumes": [*(pod.get("volumes") or ()), *added]} if added else pod
