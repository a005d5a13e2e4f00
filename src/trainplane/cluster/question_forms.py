"""The forms of what is asked and not stored: reviews, token requests, bindings and evictions."""

import re
from typing import Any, get_args

import msgspec

from trainplane.api.meta import Raw
from trainplane.cluster.errors import BadRequest
from trainplane.cluster.go_words import json_word

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


_STRUCTS = {
    Deletion: "DeleteOptions",
    AccessSpec: "SubjectAccessReviewSpec",
    RulesSpec: "SelfSubjectRulesReviewSpec",
    Reference: "ObjectReference",
    TokenSpec: "TokenRequestSpec",
    Metadata: "ObjectMeta",
}
"""The forms that Go calls otherwise."""
_AT = re.compile(r"at `\$\.?([^`]*)`")


def in_form(raw: Raw, kind: str) -> Raw:
    """The question itself, if all that is read of it is of its type; raises BadRequest."""
    try:
        msgspec.convert(raw, _FORMS.get(kind, Question))
    except msgspec.ValidationError as error:
        words = _unreadable(raw, kind, str(error))
        if kind != "DeleteOptions":
            words = f'{kind} in version "v1" cannot be handled as a {kind}: {words}'
        raise BadRequest(words) from None
    return raw


def _unreadable(raw: Raw, kind: str, fault: str) -> str:
    """What Go says of a field that is not of its type."""
    found = _AT.search(fault)
    names = [name for name in (found[1] if found else "").replace("[...]", "").split(".") if name]
    holder: type[msgspec.Struct] = _FORMS.get(kind, Question)
    annotation: Any = None
    value: Any = raw
    struct = kind
    for name in names:
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(holder)}
        annotation = fields.get(name)
        struct = _STRUCTS.get(holder, kind if issubclass(holder, Question) else holder.__name__)
        value = value.get(name) if isinstance(value, dict) else None
        held = [each for each in get_args(annotation) if each is not type(None)]
        annotation = held[0] if held else annotation
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            holder = annotation
    field = f"{struct}.{'.'.join(names)}"
    return f"json: cannot unmarshal {json_word(value)} into Go struct field {field} of type {_go(annotation)}"


def _go(annotation: Any) -> str:
    if annotation in (str, bool, int):
        return {str: "string", bool: "bool", int: "int64"}[annotation]
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return f"v1.{_STRUCTS.get(annotation, annotation.__name__)}"
    return "[]string" if annotation == Texts else "map[string]string"
