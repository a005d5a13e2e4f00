"""Roles and their bindings, of rbac.authorization.k8s.io/v1."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, ATOMIC_MAP, Field, LabelSelector, ObjectMeta, Strings, Wire, always


class PolicyRule(Wire, frozen=True):
    """Verbs on resources or URLs."""

    verbs: Strings
    api_groups: Strings | UnsetType = UNSET
    non_resource_urls: Strings | UnsetType = msgspec.field(name="nonResourceURLs", default=UNSET)
    resource_names: Strings | UnsetType = UNSET
    resources: Strings | UnsetType = UNSET


class AggregationRule(Wire, frozen=True):
    """ClusterRoles whose rules are added up."""

    cluster_role_selectors: Annotated[tuple[LabelSelector, ...], ATOMIC] | UnsetType = UNSET


class RoleRef(Wire, frozen=True):
    """The role that a binding grants."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    kind: str
    name: str
    api_group: str | UnsetType = UNSET


class Subject(Wire, frozen=True):
    """Whom a binding is for."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    kind: str
    name: str
    namespace: str | UnsetType = UNSET
    api_group: str | UnsetType = UNSET


class Role(Wire, frozen=True, kw_only=True):
    """Rules within one namespace."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("Role")
    metadata: ObjectMeta = ObjectMeta()
    rules: Annotated[tuple[PolicyRule, ...], ATOMIC] | UnsetType = UNSET


class ClusterRole(Wire, frozen=True, kw_only=True):
    """Rules for the cluster, or for any namespace it is bound in."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRole")
    metadata: ObjectMeta = ObjectMeta()
    aggregation_rule: AggregationRule | UnsetType = UNSET
    rules: Annotated[tuple[PolicyRule, ...], ATOMIC] | UnsetType = UNSET


class RoleBinding(Wire, frozen=True, kw_only=True):
    """A role granted within one namespace."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("RoleBinding")
    metadata: ObjectMeta = ObjectMeta()
    role_ref: RoleRef
    subjects: Annotated[tuple[Subject, ...], ATOMIC] | UnsetType = UNSET


class ClusterRoleBinding(Wire, frozen=True, kw_only=True):
    """A role granted everywhere."""

    api_version: str = always("rbac.authorization.k8s.io/v1")
    kind: str = always("ClusterRoleBinding")
    metadata: ObjectMeta = ObjectMeta()
    role_ref: RoleRef
    subjects: Annotated[tuple[Subject, ...], ATOMIC] | UnsetType = UNSET
