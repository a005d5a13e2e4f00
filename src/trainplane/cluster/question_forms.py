"""The forms of what is asked and not stored: reviews, token requests, bindings and evictions."""

import msgspec

from trainplane.api.meta import Raw
from trainplane.cluster.errors import BadRequest

Texts = tuple[str, ...]


class Metadata(msgspec.Struct, frozen=True):
    """What is said of a question itself, or of the object that it is about."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class ResourceAttributes(msgspec.Struct, frozen=True):
    """What is to be done, and to which resource."""

    verb: str | None = None
    group: str | None = None
    version: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None


class NonResourceAttributes(msgspec.Struct, frozen=True):
    """What is to be done at a path."""

    verb: str | None = None
    path: str | None = None


class AccessSpec(msgspec.Struct, rename="camel", frozen=True):
    """Who may do what."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str | None = None
    groups: Texts | None = None
    uid: str | None = None


class RulesSpec(msgspec.Struct, frozen=True):
    """Where."""

    namespace: str | None = None


class Reference(msgspec.Struct, rename="camel", frozen=True):
    """An object that is named."""

    kind: str | None = None
    api_version: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class TokenSpec(msgspec.Struct, rename="camel", frozen=True):
    """A token, or the wish for one."""

    token: str | None = None
    audiences: Texts | None = None
    expiration_seconds: int | None = None
    bound_object_ref: Reference | None = None


class Preconditions(msgspec.Struct, rename="camel", frozen=True):
    """What must be so."""

    uid: str | None = None
    resource_version: str | None = None


class Question(msgspec.Struct, frozen=True):
    """What every one of them may say."""

    metadata: Metadata | None = None


class Deletion(Question, rename="camel", frozen=True):
    """How to delete."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: Texts | None = None
    preconditions: Preconditions | None = None


class AccessReview(Question, frozen=True):
    """A review of access."""

    spec: AccessSpec | None = None


class RulesReview(Question, frozen=True):
    """A review of rules."""

    spec: RulesSpec | None = None


class Tokens(Question, frozen=True):
    """A review of a token, or a request for one."""

    spec: TokenSpec | None = None


class Binding(Question, frozen=True):
    """A pod's place."""

    target: Reference | None = None


class Eviction(Question, rename="camel", frozen=True):
    """The wish that a pod goes."""

    delete_options: Deletion | None = None


_FORMS: dict[str, type[Question]] = {
    "Binding": Binding,
    "DeleteOptions": Deletion,
    "Eviction": Eviction,
    "LocalSubjectAccessReview": AccessReview,
    "SelfSubjectAccessReview": AccessReview,
    "SelfSubjectRulesReview": RulesReview,
    "SubjectAccessReview": AccessReview,
    "TokenRequest": Tokens,
    "TokenReview": Tokens,
}


def in_form(raw: Raw, kind: str) -> Raw:
    """The question itself, if all that is read of it is of its type; raises BadRequest."""
    try:
        msgspec.convert(raw, _FORMS.get(kind, Question))
    except msgspec.ValidationError as error:
        raise BadRequest(f"{kind} cannot be read: {error}".replace("`", "'")) from None
    return raw
