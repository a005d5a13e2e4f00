"""Go's names for types of fields that are not those of JSON: refusals of values that cannot be read name them.

A line is a type of a field and the fields that have it, each with its struct. What is a list of such values is known
from the field itself.
"""

from functools import cache

_FIELDS = """
AddressType EndpointSlice.addressType
AppArmorProfileType AppArmorProfile.type
AzureDataDiskCachingMode AzureDiskVolumeSource.cachingMode
AzureDataDiskKind AzureDiskVolumeSource.kind
Capability Capabilities.add Capabilities.drop
CompletionMode JobSpec.completionMode
ConditionStatus JobCondition.status NodeCondition.status PodCondition.status
ConditionStatus PodFailurePolicyOnPodConditionsPattern.status
ContainerRestartPolicy Container.restartPolicy
ContainerRestartRuleAction ContainerRestartRule.action
ContainerRestartRuleOnExitCodesOperator ContainerRestartRuleOnExitCodes.operator
CoordinatedLeaseStrategy LeaseSpec.strategy
DNSPolicy PodSpec.dnsPolicy
FinalizerName NamespaceSpec.finalizers
HPAScalingPolicyType HPAScalingPolicy.type
HostPathType HostPathVolumeSource.type
IPFamily ServiceSpec.ipFamilies
IPFamilyPolicy ServiceSpec.ipFamilyPolicy
JobConditionType JobCondition.type
LabelSelectorOperator LabelSelectorRequirement.operator
LimitType LimitRangeItem.type
ManagedFieldsEntry ObjectMeta.managedFields
MetricSourceType MetricSpec.type
MetricTargetType MetricTarget.type
MountPropagationMode VolumeMount.mountPropagation
NamespacePhase NamespaceStatus.phase
NodeAddressType NodeAddress.type
NodeConditionType NodeCondition.type
NodeInclusionPolicy TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy
NodeSelectorOperator NodeSelectorRequirement.operator
OSName PodOS.name
PersistentVolumeAccessMode PersistentVolumeClaimSpec.accessModes
PersistentVolumeClaimPhase PersistentVolumeClaimStatus.phase
PersistentVolumeMode PersistentVolumeClaimSpec.volumeMode
PodConditionType PodCondition.type PodFailurePolicyOnPodConditionsPattern.type PodReadinessGate.conditionType
PodFSGroupChangePolicy PodSecurityContext.fsGroupChangePolicy
PodFailurePolicyAction PodFailurePolicyRule.action
PodFailurePolicyOnExitCodesOperator PodFailurePolicyOnExitCodesRequirement.operator
PodPhase PodStatus.phase
PodQOSClass PodStatus.qosClass
PodReplacementPolicy JobSpec.podReplacementPolicy
PodSELinuxChangePolicy PodSecurityContext.seLinuxChangePolicy
PreemptionPolicy PodSpec.preemptionPolicy PriorityClass.preemptionPolicy
ProcMountType SecurityContext.procMount
Protocol ContainerPort.protocol EndpointPort.protocol ServicePort.protocol
PullPolicy Container.imagePullPolicy ImageVolumeSource.pullPolicy
RecursiveReadOnlyMode VolumeMount.recursiveReadOnly
ResourceList LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.max LimitRangeItem.maxLimitRequestRatio
ResourceList LimitRangeItem.min NodeStatus.allocatable NodeStatus.capacity Overhead.podFixed PodSpec.overhead
ResourceList PersistentVolumeClaimStatus.capacity ResourceQuotaSpec.hard ResourceQuotaStatus.hard
ResourceList ResourceQuotaStatus.used ResourceRequirements.limits ResourceRequirements.requests
ResourceList VolumeResourceRequirements.limits VolumeResourceRequirements.requests
ResourceName ContainerResizePolicy.resourceName ContainerResourceMetricSource.name ResourceMetricSource.name
ResourceQuotaScope ResourceQuotaSpec.scopes ScopedResourceSelectorRequirement.scopeName
ResourceResizeRestartPolicy ContainerResizePolicy.restartPolicy
RestartPolicy PodSpec.restartPolicy
ScalingPolicySelect HPAScalingRules.selectPolicy
ScopeSelectorOperator ScopedResourceSelectorRequirement.operator
SeccompProfileType SeccompProfile.type
SecretType Secret.type
ServiceAffinity ServiceSpec.sessionAffinity
ServiceExternalTrafficPolicy ServiceSpec.externalTrafficPolicy
ServiceInternalTrafficPolicy ServiceSpec.internalTrafficPolicy
ServiceType ServiceSpec.type
Signal Lifecycle.stopSignal
StorageMedium EmptyDirVolumeSource.medium
SupplementalGroupsPolicy PodSecurityContext.supplementalGroupsPolicy
TaintEffect Taint.effect Toleration.effect
TerminationMessagePolicy Container.terminationMessagePolicy
TolerationOperator Toleration.operator
URIScheme HTTPGetAction.scheme
UnsatisfiableConstraintAction TopologySpreadConstraint.whenUnsatisfiable
types.UID ObjectMeta.uid ObjectReference.uid OwnerReference.uid
"""
_RENAMED = {
    "CoreEvent": "Event",
    "CoreEventSeries": "EventSeries",
    "EmbeddedMeta": "ObjectMeta",
    "SlicePort": "EndpointPort",
}
_OF_AUTOSCALING = "autoscaling"
_OF_META = ("ResourceName",)
"""Types of the core group that fields of other groups have."""
_VOLUME = "Volume"
_EMBEDDED = {
    "EphemeralContainer": (
        "EphemeralContainerCommon",
        (
            *("name", "image", "command", "args", "workingDir", "ports", "envFrom", "env", "resources", "resizePolicy"),
            *("restartPolicy", "restartPolicyRules", "volumeMounts", "volumeDevices", "livenessProbe"),
            *("readinessProbe", "startupProbe", "lifecycle", "terminationMessagePath", "terminationMessagePolicy"),
            *("imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty"),
        ),
    ),
    "Probe": ("ProbeHandler", ("exec", "grpc", "httpGet", "tcpSocket")),
    **dict.fromkeys(
        (
            *("ConfigMapEnvSource", "ConfigMapKeySelector", "ConfigMapProjection", "ConfigMapVolumeSource"),
            *("SecretEnvSource", "SecretKeySelector", "SecretProjection"),
        ),
        ("LocalObjectReference", ("name",)),
    ),
}


@cache
def _named() -> dict[str, str]:
    lines = [line.split() for line in _FIELDS.strip().splitlines()]
    return {field: name for name, *fields in lines for field in fields}


def struct_name(type_: type) -> str:
    """The struct that a type stands for."""
    return _RENAMED.get(type_.__name__, type_.__name__)


def version_of(type_: type) -> str:
    """The Go package of a struct: named after its version."""
    return "v2" if type_.__module__.rpartition(".")[2] == _OF_AUTOSCALING else "v1"


def field_type(struct: type, field: str) -> str:
    """The named type of a field's value, or of each of its values; "" where it is one of JSON's."""
    name = _named().get(f"{struct_name(struct)}.{field}", "")
    if not name or "." in name:
        return name
    return f"{'v1' if name in _OF_META else version_of(struct)}.{name}"


def embedded_in(struct: type, field: str) -> str:
    """The struct inside another whose fields JSON writes beside the other's, where the field is one of its; or ""."""
    name = struct_name(struct)
    if name == _VOLUME:
        return "" if field == "name" else "VolumeSource"
    inner, fields = _EMBEDDED.get(name, ("", ()))
    return inner if field in fields else ""
