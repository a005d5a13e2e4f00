"""ResourceQuota and LimitRange: what a namespace and its pods may use."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, ATOMIC_MAP, Field, ObjectMeta, Quantity, Strings, Wire, always


class ScopedResourceSelectorRequirement(Wire, frozen=True):
    """One condition on the pods a quota counts."""

    operator: str
    scope_name: str
    values: Strings | UnsetType = UNSET


class ScopeSelector(Wire, frozen=True):
    """Which pods a quota counts."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    match_expressions: Annotated[tuple[ScopedResourceSelectorRequirement, ...], ATOMIC] | UnsetType = UNSET


class ResourceQuotaSpec(Wire, frozen=True):
    """The most that may be used."""

    hard: Mapping[str, Quantity] | UnsetType = UNSET
    scope_selector: ScopeSelector | UnsetType = UNSET
    scopes: Strings | UnsetType = UNSET


class ResourceQuotaStatus(Wire, frozen=True):
    """The most, and what is used."""

    hard: Mapping[str, Quantity] | UnsetType = UNSET
    used: Mapping[str, Quantity] | UnsetType = UNSET


class ResourceQuota(Wire, frozen=True, kw_only=True):
    """The most that a namespace may use."""

    api_version: str = always("v1")
    kind: str = always("ResourceQuota")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class LimitRangeItem(Wire, frozen=True):
    """Bounds and defaults for one type of object."""

    type: str
    default: Mapping[str, Quantity] | UnsetType = UNSET
    default_request: Mapping[str, Quantity] | UnsetType = UNSET
    max: Mapping[str, Quantity] | UnsetType = UNSET
    max_limit_request_ratio: Mapping[str, Quantity] | UnsetType = UNSET
    min: Mapping[str, Quantity] | UnsetType = UNSET


class LimitRangeSpec(Wire, frozen=True):
    """Bounds and defaults."""

    limits: Annotated[tuple[LimitRangeItem, ...], ATOMIC]


class LimitRange(Wire, frozen=True, kw_only=True):
    """Bounds and defaults for what each pod, container or claim may use."""

    api_version: str = always("v1")
    kind: str = always("LimitRange")
    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec
