"""Volumes of a pod and every source they can come from."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.claims import PersistentVolumeClaimTemplate
from trainplane.api.meta import ATOMIC, Field, Int32, Int64, LabelSelector, Quantity, Strings, Wire
from trainplane.api.references import LocalObjectReference, ObjectFieldSelector, ResourceFieldSelector


class KeyToPath(Wire, frozen=True):
    """A key of a ConfigMap or Secret and the file it becomes."""

    key: str
    path: str
    mode: Int32 | UnsetType = UNSET


class DownwardAPIVolumeFile(Wire, frozen=True):
    """A file that holds a field of the pod."""

    path: str
    field_ref: ObjectFieldSelector | UnsetType = UNSET
    mode: Int32 | UnsetType = UNSET
    resource_field_ref: ResourceFieldSelector | UnsetType = UNSET


class AWSElasticBlockStoreVolumeSource(Wire, frozen=True):
    """A disk of AWS."""

    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | UnsetType = UNSET
    partition: Int32 | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET


class AzureDiskVolumeSource(Wire, frozen=True):
    """A disk of Azure."""

    disk_name: str
    disk_uri: str = msgspec.field(name="diskURI")
    kind: str | UnsetType = UNSET
    caching_mode: str | UnsetType = UNSET
    fs_type: Annotated[str, Field(default="ext4")] | UnsetType = UNSET
    read_only: Annotated[bool, Field(default=False)] | UnsetType = UNSET


class AzureFileVolumeSource(Wire, frozen=True):
    """A file share of Azure."""

    secret_name: str
    share_name: str
    read_only: bool | UnsetType = UNSET


class CephFSVolumeSource(Wire, frozen=True):
    """A Ceph file system."""

    monitors: Strings
    path: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_file: str | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET
    user: str | UnsetType = UNSET


class CinderVolumeSource(Wire, frozen=True):
    """A disk of OpenStack."""

    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET


class ConfigMapVolumeSource(Wire, frozen=True):
    """A ConfigMap as files."""

    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    default_mode: Int32 | UnsetType = UNSET
    items: Annotated[tuple[KeyToPath, ...], ATOMIC] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class CSIVolumeSource(Wire, frozen=True):
    """An inline volume of a CSI driver."""

    driver: str
    fs_type: str | UnsetType = UNSET
    node_publish_secret_ref: LocalObjectReference | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    volume_attributes: Mapping[str, str] | UnsetType = UNSET


class DownwardAPIVolumeSource(Wire, frozen=True):
    """Fields of the pod as files."""

    default_mode: Int32 | UnsetType = UNSET
    items: Annotated[tuple[DownwardAPIVolumeFile, ...], ATOMIC] | UnsetType = UNSET


class EmptyDirVolumeSource(Wire, frozen=True):
    """A directory that lives as long as the pod."""

    medium: str | UnsetType = UNSET
    size_limit: Quantity | UnsetType = UNSET


class EphemeralVolumeSource(Wire, frozen=True):
    """A claim made for the pod and deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | UnsetType = UNSET


class FCVolumeSource(Wire, frozen=True):
    """A Fibre Channel disk."""

    fs_type: str | UnsetType = UNSET
    lun: Int32 | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    target_wwns: Strings | UnsetType = msgspec.field(name="targetWWNs", default=UNSET)
    wwids: Strings | UnsetType = UNSET


class FlexVolumeSource(Wire, frozen=True):
    """A volume of a FlexVolume driver."""

    driver: str
    fs_type: str | UnsetType = UNSET
    options: Mapping[str, str] | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET


class FlockerVolumeSource(Wire, frozen=True):
    """A Flocker dataset."""

    dataset_name: str | UnsetType = UNSET
    dataset_uuid: str | UnsetType = msgspec.field(name="datasetUUID", default=UNSET)


class GCEPersistentDiskVolumeSource(Wire, frozen=True):
    """A disk of Google Compute Engine."""

    pd_name: str
    fs_type: str | UnsetType = UNSET
    partition: Int32 | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET


class GitRepoVolumeSource(Wire, frozen=True):
    """A checkout of a git repository; deprecated."""

    repository: str
    directory: str | UnsetType = UNSET
    revision: str | UnsetType = UNSET


class GlusterfsVolumeSource(Wire, frozen=True):
    """A Gluster file system."""

    endpoints: str
    path: str
    read_only: bool | UnsetType = UNSET


class HostPathVolumeSource(Wire, frozen=True):
    """A path of the node."""

    path: str
    type: str | UnsetType = UNSET


class ISCSIVolumeSource(Wire, frozen=True):
    """An iSCSI disk."""

    iqn: str
    lun: Int32
    target_portal: str
    chap_auth_discovery: bool | UnsetType = UNSET
    chap_auth_session: bool | UnsetType = UNSET
    fs_type: str | UnsetType = UNSET
    initiator_name: str | UnsetType = UNSET
    iscsi_interface: Annotated[str, Field(default="default")] | UnsetType = UNSET
    portals: Strings | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET


class ImageVolumeSource(Wire, frozen=True):
    """An OCI image as a read-only directory."""

    pull_policy: str | UnsetType = UNSET
    reference: str | UnsetType = UNSET


class NFSVolumeSource(Wire, frozen=True):
    """An NFS export."""

    path: str
    server: str
    read_only: bool | UnsetType = UNSET


class PersistentVolumeClaimVolumeSource(Wire, frozen=True):
    """The volume that a claim has got."""

    claim_name: str
    read_only: bool | UnsetType = UNSET


class PhotonPersistentDiskVolumeSource(Wire, frozen=True):
    """A disk of Photon Controller."""

    pd_id: str = msgspec.field(name="pdID")
    fs_type: str | UnsetType = UNSET


class PortworxVolumeSource(Wire, frozen=True):
    """A Portworx volume."""

    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET


class ClusterTrustBundleProjection(Wire, frozen=True):
    """Trust anchors as one file."""

    path: str
    name: str | UnsetType = UNSET
    label_selector: LabelSelector | UnsetType = UNSET
    optional: bool | UnsetType = UNSET
    signer_name: str | UnsetType = UNSET


class ConfigMapProjection(Wire, frozen=True):
    """A ConfigMap's share of a projected volume."""

    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    items: Annotated[tuple[KeyToPath, ...], ATOMIC] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class DownwardAPIProjection(Wire, frozen=True):
    """The pod's own fields in a projected volume."""

    items: Annotated[tuple[DownwardAPIVolumeFile, ...], ATOMIC] | UnsetType = UNSET


class PodCertificateProjection(Wire, frozen=True):
    """A private key and its certificate, renewed by the node."""

    key_type: str
    signer_name: str
    certificate_chain_path: str | UnsetType = UNSET
    credential_bundle_path: str | UnsetType = UNSET
    key_path: str | UnsetType = UNSET
    max_expiration_seconds: Int32 | UnsetType = UNSET
    user_annotations: Mapping[str, str] | UnsetType = UNSET


class SecretProjection(Wire, frozen=True):
    """A Secret's share of a projected volume."""

    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    items: Annotated[tuple[KeyToPath, ...], ATOMIC] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class ServiceAccountTokenProjection(Wire, frozen=True):
    """A token of the pod's service account, renewed by the node."""

    path: str
    audience: str | UnsetType = UNSET
    expiration_seconds: Int64 | UnsetType = UNSET


class VolumeProjection(Wire, frozen=True):
    """One source of a projected volume."""

    cluster_trust_bundle: ClusterTrustBundleProjection | UnsetType = UNSET
    config_map: ConfigMapProjection | UnsetType = UNSET
    downward_api: DownwardAPIProjection | UnsetType = msgspec.field(name="downwardAPI", default=UNSET)
    pod_certificate: PodCertificateProjection | UnsetType = UNSET
    secret: SecretProjection | UnsetType = UNSET
    service_account_token: ServiceAccountTokenProjection | UnsetType = UNSET


class ProjectedVolumeSource(Wire, frozen=True):
    """Several sources in one directory."""

    default_mode: Int32 | UnsetType = UNSET
    sources: Annotated[tuple[VolumeProjection, ...], ATOMIC] | UnsetType = UNSET


class QuobyteVolumeSource(Wire, frozen=True):
    """A Quobyte volume."""

    registry: str
    volume: str
    group: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    user: str | UnsetType = UNSET


class RBDVolumeSource(Wire, frozen=True):
    """A Ceph block device."""

    image: str
    monitors: Strings
    fs_type: str | UnsetType = UNSET
    keyring: Annotated[str, Field(default="/etc/ceph/keyring")] | UnsetType = UNSET
    pool: Annotated[str, Field(default="rbd")] | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET
    user: Annotated[str, Field(default="admin")] | UnsetType = UNSET


class ScaleIOVolumeSource(Wire, frozen=True):
    """A ScaleIO volume."""

    gateway: str
    secret_ref: LocalObjectReference
    system: str
    fs_type: Annotated[str, Field(default="xfs")] | UnsetType = UNSET
    protection_domain: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    ssl_enabled: bool | UnsetType = UNSET
    storage_mode: Annotated[str, Field(default="ThinProvisioned")] | UnsetType = UNSET
    storage_pool: str | UnsetType = UNSET
    volume_name: str | UnsetType = UNSET


class SecretVolumeSource(Wire, frozen=True):
    """A Secret as files."""

    default_mode: Int32 | UnsetType = UNSET
    items: Annotated[tuple[KeyToPath, ...], ATOMIC] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET
    secret_name: str | UnsetType = UNSET


class StorageOSVolumeSource(Wire, frozen=True):
    """A StorageOS volume."""

    fs_type: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    secret_ref: LocalObjectReference | UnsetType = UNSET
    volume_name: str | UnsetType = UNSET
    volume_namespace: str | UnsetType = UNSET


class VsphereVirtualDiskVolumeSource(Wire, frozen=True):
    """A disk of vSphere."""

    volume_path: str
    fs_type: str | UnsetType = UNSET
    storage_policy_id: str | UnsetType = msgspec.field(name="storagePolicyID", default=UNSET)
    storage_policy_name: str | UnsetType = UNSET


class Volume(Wire, frozen=True):
    """A directory that containers of the pod can mount; one source is set."""

    name: str
    image: ImageVolumeSource | UnsetType = UNSET
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | UnsetType = UNSET
    azure_disk: AzureDiskVolumeSource | UnsetType = UNSET
    azure_file: AzureFileVolumeSource | UnsetType = UNSET
    cephfs: CephFSVolumeSource | UnsetType = UNSET
    cinder: CinderVolumeSource | UnsetType = UNSET
    config_map: ConfigMapVolumeSource | UnsetType = UNSET
    csi: CSIVolumeSource | UnsetType = UNSET
    downward_api: DownwardAPIVolumeSource | UnsetType = msgspec.field(name="downwardAPI", default=UNSET)
    empty_dir: EmptyDirVolumeSource | UnsetType = UNSET
    ephemeral: EphemeralVolumeSource | UnsetType = UNSET
    fc: FCVolumeSource | UnsetType = UNSET
    flex_volume: FlexVolumeSource | UnsetType = UNSET
    flocker: FlockerVolumeSource | UnsetType = UNSET
    gce_persistent_disk: GCEPersistentDiskVolumeSource | UnsetType = UNSET
    git_repo: GitRepoVolumeSource | UnsetType = UNSET
    glusterfs: GlusterfsVolumeSource | UnsetType = UNSET
    host_path: HostPathVolumeSource | UnsetType = UNSET
    iscsi: ISCSIVolumeSource | UnsetType = UNSET
    nfs: NFSVolumeSource | UnsetType = UNSET
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | UnsetType = UNSET
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | UnsetType = UNSET
    portworx_volume: PortworxVolumeSource | UnsetType = UNSET
    projected: ProjectedVolumeSource | UnsetType = UNSET
    quobyte: QuobyteVolumeSource | UnsetType = UNSET
    rbd: RBDVolumeSource | UnsetType = UNSET
    scale_io: ScaleIOVolumeSource | UnsetType = msgspec.field(name="scaleIO", default=UNSET)
    secret: SecretVolumeSource | UnsetType = UNSET
    storageos: StorageOSVolumeSource | UnsetType = UNSET
    vsphere_volume: VsphereVirtualDiskVolumeSource | UnsetType = UNSET
