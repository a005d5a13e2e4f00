"""Values as a real API server shows them in refusals: as Go prints its internal structs, every field of them.

A type is a line of fields in Go's order. `Name` is a string, `Name#` a number, `Name!` a boolean, `Name?` what is null
where nothing is given; a type after `?` is what is pointed to or listed, and after `:` a struct that is always there.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from trainplane.api.meta import Raw

_OTHER_VOLUMES = (
    "GCEPersistentDisk? AWSElasticBlockStore? GitRepo? Secret?SecretVolume NFS?NFS ISCSI? Glusterfs? "
    "PersistentVolumeClaim?ClaimVolume RBD? Quobyte? FlexVolume? Cinder? CephFS? Flocker? DownwardAPI?DownwardVolume "
    "FC? AzureFile? ConfigMap?ConfigMapVolume VsphereVolume? AzureDisk? PhotonPersistentDisk? Projected?Projected "
    "PortworxVolume? ScaleIO? StorageOS? CSI? Ephemeral? Image?"
)
_CONTAINER = (
    "Name Image Command? Args? WorkingDir Ports?Port EnvFrom?EnvFrom Env?Env Resources:Resources ResizePolicy? "
    "RestartPolicy? RestartPolicyRules? VolumeMounts?Mount VolumeDevices? LivenessProbe?Probe ReadinessProbe?Probe "
    "StartupProbe?Probe Lifecycle?Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy "
    "SecurityContext?SecurityContext Stdin! StdinOnce! TTY!"
)
_TYPES = {
    "PodSpec": (
        "Volumes?Volume InitContainers?Container Containers?Container EphemeralContainers?EphemeralContainer "
        "RestartPolicy TerminationGracePeriodSeconds? ActiveDeadlineSeconds? DNSPolicy NodeSelector? "
        "ServiceAccountName AutomountServiceAccountToken? NodeName SecurityContext:PodSecurityContext "
        "ImagePullSecrets?LocalReference Hostname Subdomain SetHostnameAsFQDN? Affinity?Affinity SchedulerName "
        "Tolerations?Toleration HostAliases?HostAlias PriorityClassName Priority? PreemptionPolicy? "
        "DNSConfig?DNSConfig ReadinessGates?ReadinessGate RuntimeClassName? Overhead? EnableServiceLinks? "
        "TopologySpreadConstraints?SpreadConstraint OS?OS SchedulingGates?LocalReference "
        "ResourceClaims?PodResourceClaim Resources?Resources HostnameOverride? SchedulingGroup?"
    ),
    "Volume": f"Name HostPath?HostPath EmptyDir?EmptyDir {_OTHER_VOLUMES}",
    "HostPath": "Path Type?",
    "EmptyDir": "Medium SizeLimit?",
    "SecretVolume": "SecretName Items?KeyToPath DefaultMode? Optional?",
    "ConfigMapVolume": "Name Items?KeyToPath DefaultMode? Optional?",
    "KeyToPath": "Key Path Mode?",
    "NFS": "Server Path ReadOnly!",
    "ClaimVolume": "ClaimName ReadOnly!",
    "DownwardVolume": "Items?DownwardFile DefaultMode?",
    "DownwardFile": "Path FieldRef?FieldRef ResourceFieldRef?ResourceRef Mode?",
    "FieldRef": "APIVersion FieldPath",
    "ResourceRef": "ContainerName Resource Divisor",
    "Projected": "Sources?ProjectedSource DefaultMode?",
    "ProjectedSource": (
        "Secret?Projection DownwardAPI?DownwardProjection ConfigMap?Projection ServiceAccountToken?TokenProjection "
        "ClusterTrustBundle? PodCertificate?"
    ),
    "Projection": "Name Items?KeyToPath Optional?",
    "DownwardProjection": "Items?DownwardFile",
    "TokenProjection": "Audience ExpirationSeconds# Path",
    "Container": _CONTAINER,
    "EphemeralContainer": f"{_CONTAINER} TargetContainerName",
    "Port": "Name HostPort# ContainerPort# Protocol HostIP",
    "EnvFrom": "Prefix ConfigMapRef?OptionalReference SecretRef?OptionalReference",
    "OptionalReference": "Name Optional?",
    "Env": "Name Value ValueFrom?EnvSource",
    "EnvSource": (
        "FieldRef?FieldRef ResourceFieldRef?ResourceRef ConfigMapKeyRef?KeyRef SecretKeyRef?KeyRef FileKeyRef?"
    ),
    "KeyRef": "Name Key Optional?",
    "Resources": "Limits? Requests? Claims?",
    "Mount": "Name ReadOnly! RecursiveReadOnly? MountPath SubPath MountPropagation? SubPathExpr",
    "Probe": (
        "Exec?Exec HTTPGet?HTTPGet TCPSocket?TCPSocket GRPC? InitialDelaySeconds# TimeoutSeconds# PeriodSeconds# "
        "SuccessThreshold# FailureThreshold# TerminationGracePeriodSeconds?"
    ),
    "Exec": "Command?",
    "HTTPGet": "Path Port Host Scheme HTTPHeaders?Header",
    "Header": "Name Value",
    "TCPSocket": "Port Host",
    "Lifecycle": "PostStart?Handler PreStop?Handler StopSignal?",
    "Handler": "Exec?Exec HTTPGet?HTTPGet TCPSocket?TCPSocket Sleep?",
    "SecurityContext": (
        "Capabilities?Capabilities Privileged? SELinuxOptions?SELinux WindowsOptions? RunAsUser? RunAsGroup? "
        "RunAsNonRoot? ReadOnlyRootFilesystem? AllowPrivilegeEscalation? ProcMount? SeccompProfile?Profile "
        "AppArmorProfile?Profile"
    ),
    "Capabilities": "Add? Drop?",
    "SELinux": "User Role Type Level",
    "Profile": "Type LocalhostProfile?",
    "PodSecurityContext": (
        "HostNetwork! HostPID! HostIPC! ShareProcessNamespace? HostUsers? SELinuxOptions?SELinux WindowsOptions? "
        "RunAsUser? RunAsGroup? RunAsNonRoot? SupplementalGroups? SupplementalGroupsPolicy? FSGroup? "
        "FSGroupChangePolicy? Sysctls?Header SeccompProfile?Profile AppArmorProfile?Profile SELinuxChangePolicy?"
    ),
    "LocalReference": "Name",
    "Affinity": "NodeAffinity?NodeAffinity PodAffinity?PodAffinity PodAntiAffinity?PodAffinity",
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution?NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution?PreferredNode"
    ),
    "NodeSelector": "NodeSelectorTerms?NodeTerm",
    "NodeTerm": "MatchExpressions?Requirement MatchFields?Requirement",
    "Requirement": "Key Operator Values?",
    "PreferredNode": "Weight# Preference:NodeTerm",
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution?PodTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution?PreferredPod"
    ),
    "PodTerm": "LabelSelector? Namespaces? TopologyKey NamespaceSelector? MatchLabelKeys? MismatchLabelKeys?",
    "PreferredPod": "Weight# PodAffinityTerm:PodTerm",
    "Toleration": "Key Operator Value Effect TolerationSeconds?",
    "HostAlias": "IP Hostnames?",
    "DNSConfig": "Nameservers? Searches? Options?DNSOption",
    "DNSOption": "Name Value?",
    "ReadinessGate": "ConditionType",
    "SpreadConstraint": (
        "MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector? MinDomains? NodeAffinityPolicy? NodeTaintsPolicy? "
        "MatchLabelKeys?"
    ),
    "OS": "Name",
    "ScopeRequirement": "ScopeName Operator Values?",
    "PodResourceClaim": "Name ResourceClaimName? ResourceClaimTemplateName?",
    "PodFailurePolicy": "Rules?FailureRule",
    "FailureRule": "Action OnExitCodes?ExitCodes OnPodConditions?PodCondition",
    "ExitCodes": "ContainerName? Operator Values?",
    "PodCondition": "Type Status",
    "SuccessPolicy": "Rules?SuccessRule",
    "SuccessRule": "SucceededIndexes? SucceededCount?",
    "ClaimSpec": (
        "AccessModes? Selector? Resources:ClaimResources VolumeName StorageClassName? VolumeMode? DataSource? "
        "DataSourceRef? VolumeAttributesClassName?"
    ),
    "ClaimResources": "Limits? Requests?",
    "ObjectReference": "Kind Namespace Name UID APIVersion ResourceVersion FieldPath",
    "EventSource": "Component Host",
}
_FIELD = re.compile(r"(\w+)([#!?:]?)(\w*)")
_ZEROS: dict[str, Any] = {"": "", "#": 0, "!": False, "?": None}
_METADATA = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
"""What of a template's metadata is shown: that has the names of the wire in Go too."""
_OF_THE_POD = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""What Go keeps in the security context, and the wire beside it."""


def as_go(value: Any, type_: str) -> Any:
    """A value with Go's names, in Go's order, and with all that is not given."""
    if value is None:
        return None
    if type_ == "PodTemplateSpec":
        given = value.get("metadata") or {}
        metadata = {name: _mapped(given[name]) for name in _METADATA if given.get(name)}
        return {**metadata, "Spec": as_go(value.get("spec") or {}, "PodSpec")}
    if isinstance(value, list):
        return [as_go(each, type_) for each in value]
    if type_ == "PodSpec":
        value = _with_host(value)
    return {go: _field(value.get(wire), mark, inner) for go, wire, mark, inner in _fields(type_)}


def difference(old: Any, new: Any, type_: str) -> str:
    """What differs between two values, line by line, as refusals of changes show it."""
    import difflib

    before, after = (json.dumps(as_go(each, type_), indent=1).splitlines() for each in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in lines)


def _field(value: Any, mark: str, inner: str) -> Any:
    if mark == ":":
        return as_go(value or {}, inner)
    if value is None:
        return _ZEROS[mark]
    return as_go(value, inner) if inner else _mapped(value)


def _mapped(value: Any) -> Any:
    """A value as it is, its maps in Go's order."""
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _with_host(spec: Mapping[str, Any]) -> Raw:
    context = {name: spec[name] for name in _OF_THE_POD if name in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **context}}


@cache
def _fields(type_: str) -> tuple[tuple[str, str, str, str], ...]:
    found = [match.groups() for match in _FIELD.finditer(_TYPES[type_])]
    return tuple((name, _wire(name), mark, inner) for name, mark, inner in found)


def _wire(name: str) -> str:
    """A Go name as the wire spells it: its leading capitals are small."""
    capitals = re.match(r"[A-Z]+(?![a-z])|[A-Z]", name)
    head = capitals[0] if capitals else ""
    return head.lower() + name[len(head) :]
