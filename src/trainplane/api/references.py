"""References to other objects and to fields of the pod itself."""

from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC_MAP, Field, Quantity, Wire


class LocalObjectReference(Wire, frozen=True):
    """An object of the same namespace, by name."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    name: Annotated[str, Field(default="")] | UnsetType = UNSET


class ObjectReference(Wire, frozen=True):
    """Any object, by whatever of its identity is known."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    api_version: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    field_path: str | UnsetType = UNSET
    resource_version: str | UnsetType = UNSET
    uid: str | UnsetType = UNSET


class TypedLocalObjectReference(Wire, frozen=True):
    """An object of the same namespace, by group, kind and name."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    kind: str
    name: str
    api_group: str | UnsetType = UNSET


class TypedObjectReference(Wire, frozen=True):
    """An object by group, kind and name, possibly of another namespace."""

    kind: str
    name: str
    namespace: str | UnsetType = UNSET
    api_group: str | UnsetType = UNSET


class ObjectFieldSelector(Wire, frozen=True):
    """A field of the pod, such as metadata.name."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    field_path: str
    api_version: str | UnsetType = UNSET


class ResourceFieldSelector(Wire, frozen=True):
    """A container's request or limit, divided by `divisor`."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    resource: str
    container_name: str | UnsetType = UNSET
    divisor: Quantity | UnsetType = UNSET
