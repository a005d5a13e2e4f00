"""What a write is refused with because of what is stored or asked for: a name that is taken or missing, another uid."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.errors import AlreadyExists, BadRequest
from trainplane.cluster.ground import Call
from trainplane.cluster.log import Stored


def taken(row: Kind, existing: Stored) -> AlreadyExists:
    """The refusal of a name that another object has."""
    deleting = look(existing.object, "metadata", "deletionTimestamp") is not None
    return AlreadyExists.of(row.resource, existing.key.name, deleting=deleting)


def unnamed(name: str) -> BadRequest:
    """The refusal of an object that does not say the name of its path."""
    return BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def other_uid(call: Call, wanted: str, old: Raw) -> str:
    """The words of a refusal where the object has another uid."""
    place = f"/registry/{call.row.plural}/{call.namespace}/{call.name}".replace("//", "/")
    return (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {old['metadata']['uid']}"
    )


def kind_words(raw: Mapping[str, Any]) -> str:
    """The kind of an object as Go prints it."""
    version = str(raw.get("apiVersion") or "")
    group, _, short = version.rpartition("/")
    return f"{group}/{short}, Kind={raw.get('kind') or ''}"
