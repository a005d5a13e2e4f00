"""Wire, the base of every type; Field and Law, what the schema says of a field; and the metadata all objects share."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

FOREGROUND_DELETION = "foregroundDeletion"
"""The finalizer of an object that goes after the objects it owns."""
ORPHAN = "orphan"
"""The finalizer of an object whose dependants stay."""

Raw = dict[str, Any]
"""A JSON object we carry and never reason about."""

T = TypeVar("T")


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The base of every type of the API: camelCase on the wire, UNSET where nothing was said."""

    SCHEMA: ClassVar["Field"]


class Law(msgspec.Struct, frozen=True):
    """A rule of the schema in both its forms: CEL for a real API server, Python for lint and the embedded one.

    `holds` gets the value and, for a transition rule, the old value (None when the rule is not a transition).
    """

    cel: str
    message: str
    holds: Callable[[Any, Any], bool]
    todo: str = ""
    transition: bool = False
    about: tuple[str, ...] = ()
    """The field below that the law is about, where a schema cannot hang it there itself."""


class Field(msgspec.Struct, frozen=True):
    """What a type annotation cannot say of a field: its description, default, limits, list semantics and laws.

    The types decode leniently, so that an object from a newer or older cluster can always be read;
    these limits reach the CRDs, lint and admission instead.
    """

    description: str = ""
    default: Any = UNSET
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    format: str = ""
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    list_type: str = ""
    """`atomic`, `set` or `map`, as x-kubernetes-list-type."""
    keys: tuple[str, ...] = ()
    """The keys of a `map` list."""
    map_type: str = ""
    """`atomic` or `granular`, as x-kubernetes-map-type."""
    merge_key: str = ""
    """The key by which strategic merge joins the list, where it has one."""
    patch_strategy: str = ""
    """`merge`, `replace` or `retainKeys`, as x-kubernetes-patch-strategy."""
    laws: tuple[Law, ...] = ()


Int32 = Annotated[int, Field(format="int32")]
Int64 = Annotated[int, Field(format="int64")]
IntOrString = Annotated[int | str, Field(format="int-or-string")]
Quantity = Annotated[int | float | str, Field(format="quantity")]
Base64 = Annotated[str, Field(format="byte")]
"""Bytes as base64 text, kept as they were written."""
Time = datetime
MicroTime = Annotated[str, Field(format="date-time")]
"""A time as text with exactly six digits of a second, as the API server insists here; `micro_time` writes it."""

ATOMIC = Field(list_type="atomic")
"""A list that is replaced as a whole."""
ATOMIC_MAP = Field(map_type="atomic")
"""An object that is replaced as a whole."""
BY_NAME = Field(list_type="map", keys=("name",), merge_key="name", patch_strategy="merge")
"""A list whose items are told apart by name."""
BY_TYPE = Field(list_type="map", keys=("type",), merge_key="type", patch_strategy="merge")
"""A list whose items are told apart by type, as conditions are."""
Strings = Annotated[tuple[str, ...], ATOMIC]


def always(value: str) -> str:
    """A field that has this value unless another is given, and is written either way; apiVersion and kind are such."""
    # msgspec leaves out a field that equals its default, but not one that a factory made.
    field: str = msgspec.field(default_factory=lambda: value)
    return field


def micro_time(time: datetime) -> str:
    """The time as MicroTime has it: 2026-01-31T12:00:00.000000Z."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def read(raw: Mapping[str, Any], type_: type[T]) -> T:
    """Read a JSON object as `type_`; a null counts as nothing said, and fields the type does not know are passed over.

    Raises msgspec.ValidationError where the object has the wrong shape; `check` explains such objects to people.
    """
    try:
        return msgspec.convert(raw, type_)
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls(raw), type_)


def without_nulls(value: Any) -> Any:
    """The same JSON value without object members that are null."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def write(obj: Wire) -> Raw:
    """The JSON object of `obj`, as the API spells it."""
    # By way of JSON, because to_builtins would leave tuples where JSON has lists.
    raw: Raw = msgspec.json.decode(msgspec.json.encode(obj))
    return raw


def first_set(*values: T | UnsetType) -> T | UnsetType:
    """The first value that was given; a given 0, False or "" counts."""
    for value in values:
        if not isinstance(value, UnsetType):
            return value
    return UNSET


def or_else(value: T | UnsetType, default: T) -> T:
    """The value, or `default` where nothing was said."""
    return default if isinstance(value, UnsetType) else value


class OwnerReference(Wire, frozen=True):
    """The object that this one belongs to."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | UnsetType = UNSET
    block_owner_deletion: bool | UnsetType = UNSET


class ObjectMeta(Wire, frozen=True):
    """The metadata of a stored object."""

    name: str | UnsetType = UNSET
    generate_name: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    uid: str | UnsetType = UNSET
    resource_version: str | UnsetType = UNSET
    generation: Int64 | UnsetType = UNSET
    creation_timestamp: Time | UnsetType = UNSET
    deletion_timestamp: Time | UnsetType = UNSET
    deletion_grace_period_seconds: Int64 | UnsetType = UNSET
    labels: Mapping[str, str] | UnsetType = UNSET
    annotations: Mapping[str, str] | UnsetType = UNSET
    owner_references: (
        Annotated[
            tuple[OwnerReference, ...],
            Field(list_type="map", keys=("uid",), merge_key="uid", patch_strategy="merge"),
        ]
        | UnsetType
    ) = UNSET
    finalizers: Annotated[tuple[str, ...], Field(list_type="set", patch_strategy="merge")] | UnsetType = UNSET
    managed_fields: Annotated[tuple[Raw, ...], ATOMIC] | UnsetType = UNSET
    self_link: str | UnsetType = UNSET


class EmbeddedMeta(Wire, frozen=True):
    """The metadata of a template inside another object; the schema keeps these five fields and prunes the rest."""

    name: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    labels: Mapping[str, str] | UnsetType = UNSET
    annotations: Mapping[str, str] | UnsetType = UNSET
    finalizers: tuple[str, ...] | UnsetType = UNSET


class Condition(Wire, frozen=True):
    """One observed aspect of an object's state, in metav1.Condition's form."""

    type: Annotated[
        str,
        Field(
            max_length=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]
    status: Annotated[str, Field(enum=("True", "False", "Unknown"))]
    last_transition_time: Time
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, Field(max_length=32768)]
    observed_generation: Annotated[Int64, Field(minimum=0)] | UnsetType = UNSET


class LabelSelectorRequirement(Wire, frozen=True):
    """One condition on an object's labels."""

    key: str
    operator: str
    values: Strings | UnsetType = UNSET


class LabelSelector(Wire, frozen=True):
    """Conditions on labels that an object must all meet; an empty one is met by every object."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    match_labels: Mapping[str, str] | UnsetType = UNSET
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] | UnsetType = UNSET
