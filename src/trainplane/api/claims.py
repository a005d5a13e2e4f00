"""Persistent volume claims: whole, as templates, and as JobSet embeds them."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, UnsetType

from trainplane.api.meta import (
    BY_TYPE,
    EmbeddedMeta,
    Field,
    LabelSelector,
    ObjectMeta,
    Quantity,
    Raw,
    Strings,
    Time,
    Wire,
    always,
)
from trainplane.api.references import TypedLocalObjectReference, TypedObjectReference

PVC_PROTECTION = "kubernetes.io/pvc-protection"
"""The finalizer that keeps a claim while pods use it."""


class VolumeResourceRequirements(Wire, frozen=True):
    """How much storage a claim asks for."""

    limits: Mapping[str, Quantity] | UnsetType = UNSET
    requests: Mapping[str, Quantity] | UnsetType = UNSET


class PersistentVolumeClaimSpec(Wire, frozen=True):
    """What kind of volume is wanted."""

    access_modes: Strings | UnsetType = UNSET
    data_source: TypedLocalObjectReference | UnsetType = UNSET
    data_source_ref: TypedObjectReference | UnsetType = UNSET
    resources: VolumeResourceRequirements | UnsetType = UNSET
    selector: LabelSelector | UnsetType = UNSET
    storage_class_name: str | UnsetType = UNSET
    volume_attributes_class_name: str | UnsetType = UNSET
    volume_mode: str | UnsetType = UNSET
    volume_name: str | UnsetType = UNSET


class PersistentVolumeClaimCondition(Wire, frozen=True):
    """One observed aspect of a claim, such as a resize under way."""

    status: str
    type: str
    last_probe_time: Time | UnsetType = UNSET
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ModifyVolumeStatus(Wire, frozen=True):
    """How far a change of the volume attributes class has come."""

    status: str
    target_volume_attributes_class_name: str | UnsetType = UNSET


class PersistentVolumeClaimStatus(Wire, frozen=True):
    """What the claim has got."""

    access_modes: Strings | UnsetType = UNSET
    allocated_resource_statuses: Annotated[Mapping[str, str], Field(map_type="granular")] | UnsetType = UNSET
    allocated_resources: Mapping[str, Quantity] | UnsetType = UNSET
    capacity: Mapping[str, Quantity] | UnsetType = UNSET
    conditions: Annotated[tuple[PersistentVolumeClaimCondition, ...], BY_TYPE] | UnsetType = UNSET
    current_volume_attributes_class_name: str | UnsetType = UNSET
    modify_volume_status: ModifyVolumeStatus | UnsetType = UNSET
    phase: str | UnsetType = UNSET


class PersistentVolumeClaim(Wire, frozen=True, kw_only=True):
    """A request for storage."""

    api_version: str = always("v1")
    kind: str = always("PersistentVolumeClaim")
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class PersistentVolumeClaimTemplate(Wire, frozen=True, kw_only=True):
    """A claim to be made for a pod and deleted with it."""

    metadata: EmbeddedMeta | UnsetType = UNSET
    spec: PersistentVolumeClaimSpec


class EmbeddedPersistentVolumeClaim(Wire, frozen=True):
    """A whole claim inside another object, as JobSet's volumeClaimPolicies have it."""

    api_version: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    metadata: EmbeddedMeta | UnsetType = UNSET
    spec: PersistentVolumeClaimSpec | UnsetType = UNSET
    status: PersistentVolumeClaimStatus | UnsetType = UNSET


def claim_of(pod: Raw, volume: Raw) -> str:
    """The name of the claim behind a pod's volume, or "" where there is none."""
    if claim := volume.get("persistentVolumeClaim"):
        return str(claim["claimName"])
    return f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") else ""
