"""Who may do what: roles, bindings, reviews and refusals, in the words of a real API server."""

from datetime import UTC, datetime
from typing import Any

import pytest

from trainplane.cluster.access import MASTERS, Attributes, User, authenticated, forbidden, forbidden_details
from trainplane.cluster.access import service_account as account
from trainplane.cluster.escalation import binding_escalation, role_escalation
from trainplane.cluster.rbac import Roles, aggregated
from trainplane.cluster.ready_roles import ADMIN, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUPS, USER, VIEWER
from trainplane.cluster.reviews import (
    ReviewError,
    access_review,
    impersonated,
    impersonation_refused,
    rules_review,
    self_review,
)

SAM = account("ml", "sam")
ANN = User("ann", ("team", "system:authenticated"))
ROOT = User("root", (MASTERS, "system:authenticated"))
TRAINER = "trainer.kubeflow.org"


def role(name: str, *rules: dict[str, Any], namespace: str = "ml") -> dict[str, Any]:
    """A Role, or a ClusterRole where the namespace is empty."""
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> dict[str, Any]:
    """A rule from words."""
    made: dict[str, Any] = {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group]}
    return made | ({"resourceNames": names.split()} if names else {})


def binding(name: str, kind: str, subject: dict[str, Any], namespace: str = "ml") -> dict[str, Any]:
    """A binding of the role with the same name."""
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [subject],
    }


SAM_SUBJECT = {"kind": "ServiceAccount", "name": "sam", "namespace": "ml"}
TEAM = {"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}


def granted(*rules: dict[str, Any]) -> Roles:
    """A world where sam has these rules in the namespace ml, beside what everybody has."""
    return Roles(
        roles=[role("r", *rules)],
        role_bindings=[binding("r", "Role", SAM_SUBJECT)],
        cluster_roles=CLUSTER_ROLES,
        cluster_role_bindings=CLUSTER_ROLE_BINDINGS,
    )


def may(roles: Roles, user: User, text: str, group: str = "", namespace: str = "ml") -> bool:
    """Whether a user may do `verb resource[/subresource] [name]`."""
    verb, what, *name = text.split()
    resource, _, part = what.partition("/")
    return roles.allowed(user, Attributes(verb, resource, group, part, "".join(name), namespace)).allowed


@pytest.mark.parametrize(
    ("given", "asked", "answer"),
    [
        (rule("get list", "configmaps"), "get configmaps a", True),
        (rule("get list", "configmaps"), "delete configmaps a", False),
        (rule("get", "configmaps"), "get secrets a", False),
        (rule("*", "configmaps"), "deletecollection configmaps", True),
        (rule("get", "*"), "get pods/log p", True),
        (rule("get", "pods"), "get pods/log p", False),
        (rule("get", "pods/log"), "get pods/log p", True),
        (rule("get", "pods/log"), "get pods p", False),
        (rule("patch", "*/scale"), "patch anything/scale x", True),
        (rule("patch", "*/scale"), "patch anything/status x", False),
        (rule("get", "configmaps", names="a b"), "get configmaps a", True),
        (rule("get", "configmaps", names="a b"), "get configmaps c", False),
        (rule("list", "configmaps", names="a"), "list configmaps", False),
        (rule("create", "configmaps", names="a"), "create configmaps", False),
    ],
)
def test_a_rule_allows_what_it_says_and_no_more(given: dict[str, Any], asked: str, answer: bool) -> None:
    assert may(granted(given), SAM, asked) is answer


def test_a_role_holds_in_its_namespace_and_group_only() -> None:
    roles = granted(rule("get", "jobs", "batch"))
    assert may(roles, SAM, "get jobs j", "batch")
    assert not may(roles, SAM, "get jobs j", "other")
    assert not may(roles, SAM, "get jobs j", "batch", namespace="default")
    assert not may(roles, SAM, "get jobs j", "batch", namespace="")
    assert not may(roles, account("other", "sam"), "get jobs j", "batch")


def test_a_cluster_role_bound_in_a_namespace_holds_there_and_bound_widely_everywhere() -> None:
    wide = role("reader", rule("get list", "secrets"), namespace="")
    here = Roles(cluster_roles=[wide], role_bindings=[binding("reader", "ClusterRole", TEAM)])
    assert may(here, ANN, "list secrets")
    assert not may(here, ANN, "list secrets", namespace="")
    everywhere = Roles(cluster_roles=[wide], cluster_role_bindings=[binding("reader", "ClusterRole", TEAM, "")])
    assert may(everywhere, ANN, "list secrets", namespace="")
    assert may(everywhere, ANN, "list secrets", namespace="any")


def test_a_binding_to_nothing_grants_nothing() -> None:
    assert not may(Roles(role_bindings=[binding("gone", "Role", SAM_SUBJECT)]), SAM, "get pods")


def test_masters_may_do_everything() -> None:
    assert may(Roles(), ROOT, "escalate clusterroles x", namespace="")
    assert not Roles().allowed(ROOT, Attributes("get", path="/metrics")).reason


@pytest.mark.parametrize(("path", "answer"), [("/version", True), ("/apis/batch/v1", True), ("/metrics", False)])
def test_every_user_may_see_what_the_api_is(path: str, answer: bool) -> None:
    asked = Attributes("get", path=path)
    assert granted().allowed(SAM, asked).allowed is answer
    assert not granted().allowed(User("nobody"), asked).allowed


def test_paths_belong_to_no_namespace() -> None:
    metrics = role("m", {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}, namespace="")
    here = Roles(cluster_roles=[metrics], role_bindings=[binding("m", "ClusterRole", TEAM)])
    assert not here.allowed(ANN, Attributes("get", path="/metrics", namespace="ml")).allowed
    everywhere = Roles(cluster_roles=[metrics], cluster_role_bindings=[binding("m", "ClusterRole", TEAM, "")])
    assert everywhere.allowed(ANN, Attributes("get", path="/metrics")).allowed


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            Attributes("patch", "configmaps", name="a", namespace="ml"),
            (
                'configmaps "a" is forbidden: User "system:serviceaccount:ml:sam" cannot patch resource "configmaps" '
                'in API group "" in the namespace "ml"'
            ),
        ),
        (
            Attributes("list", "trainjobs", TRAINER),
            (
                'trainjobs.trainer.kubeflow.org is forbidden: User "system:serviceaccount:ml:sam" cannot list resource '
                '"trainjobs" in API group "trainer.kubeflow.org" at the cluster scope'
            ),
        ),
        (
            Attributes("get", "pods", subresource="log", name="p", namespace="ml"),
            (
                'pods "p" is forbidden: User "system:serviceaccount:ml:sam" cannot get resource "pods/log" '
                'in API group "" in the namespace "ml"'
            ),
        ),
        (
            Attributes("get", path="/metrics"),
            'forbidden: User "system:serviceaccount:ml:sam" cannot get path "/metrics"',
        ),
    ],
)
def test_refusals_are_said_as_a_real_server_says_them(asked: Attributes, sentence: str) -> None:
    assert forbidden(SAM, asked) == sentence


def test_the_details_of_a_refusal() -> None:
    asked = Attributes("get", "trainjobs", TRAINER, name="t", namespace="ml")
    assert forbidden_details(asked) == {"name": "t", "group": TRAINER, "kind": "trainjobs"}
    assert forbidden_details(Attributes("get", path="/x")) == {}


def review(kind: str, **spec: Any) -> dict[str, Any]:
    """A review of authorization.k8s.io."""
    return {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "spec": spec}


def test_access_reviews_answer_with_the_binding() -> None:
    roles = granted(rule("get", "configmaps"))
    asked = {"namespace": "ml", "verb": "get", "resource": "configmaps"}
    mine = access_review(review("SelfSubjectAccessReview", resourceAttributes=asked), SAM, roles=roles)
    assert mine["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "r/ml" of Role "r" to ServiceAccount "sam/ml"',
    }
    assert mine["spec"] == {"resourceAttributes": asked}
    theirs = review("SubjectAccessReview", user=SAM.name, resourceAttributes=asked | {"verb": "delete"})
    assert access_review(theirs, ROOT, roles=roles)["status"] == {"allowed": False}
    path = review("SelfSubjectAccessReview", nonResourceAttributes={"path": "/version", "verb": "get"})
    assert access_review(path, SAM, roles=roles)["status"]["reason"].endswith('to Group "system:authenticated"')


def test_reviews_that_ask_nothing_or_elsewhere_are_refused() -> None:
    with pytest.raises(ReviewError, match="exactly one of") as nothing:
        access_review(review("SelfSubjectAccessReview"), SAM, roles=Roles())
    assert nothing.value.field == "spec.resourceAttributes"
    local = review("LocalSubjectAccessReview", user="x", resourceAttributes={"namespace": "default", "verb": "get"})
    with pytest.raises(ReviewError, match=r'"default": must match metadata\.namespace'):
        access_review(local, ROOT, roles=Roles(), namespace="ml")
    with pytest.raises(ReviewError, match="no namespace on request"):
        rules_review(review("SelfSubjectRulesReview"), SAM, roles=Roles())


def test_a_rules_review_lists_what_a_service_account_may_do() -> None:
    roles = granted(rule("get list", "configmaps"), rule("*", "jobs", "batch", "x"))
    status = rules_review(review("SelfSubjectRulesReview", namespace="ml"), SAM, roles=roles)["status"]
    # As recorded from a real server.
    assert status["resourceRules"] == [
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]},
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
        {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["*"], "apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["x"]},
    ]
    assert [rule["nonResourceURLs"][0] for rule in status["nonResourceRules"]] == (
        ["/.well-known/openid-configuration", "/api", "/healthz"]
    )


def test_whoami() -> None:
    answer = self_review({}, authenticated(User("ann", ("team",))), now=datetime(2026, 3, 1, tzinfo=UTC))
    assert answer["status"] == {"userInfo": {"username": "ann", "groups": ["team", "system:authenticated"]}}
    assert answer["metadata"] == {"creationTimestamp": "2026-03-01T00:00:00Z"}


def test_nobody_grants_in_a_role_what_they_do_not_have() -> None:
    roles = granted(rule("get", "pods"), rule("*", "roles rolebindings", "rbac.authorization.k8s.io", "never"))
    assert role_escalation(SAM, role("x", rule("get", "pods")), roles=roles) == ""
    assert role_escalation(SAM, role("y", rule("get delete", "pods secrets")), roles=roles) == (
        'user "system:serviceaccount:ml:sam" (groups=["system:serviceaccounts" "system:serviceaccounts:ml" '
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}'
    )


def test_a_permission_that_is_granted_twice_is_named_twice() -> None:
    # Recorded from a real server.
    twice = role("y", rule("get list", "*", "x.io"), rule("delete get", "*", "x.io"))
    assert role_escalation(User("u"), twice, roles=granted()).endswith(
        'held:\n{APIGroups:["x.io"], Resources:["*"], Verbs:["get" "list" "delete" "get"]}'
    )


def test_nobody_binds_a_role_that_says_more_than_they_have() -> None:
    roles = granted(rule("get", "pods"))
    wanted = binding("cluster-admin", "ClusterRole", {"kind": "User", "name": "u"})
    refusal = binding_escalation(SAM, wanted, roles=roles)
    assert refusal is not None
    assert refusal.endswith('\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}')
    assert binding_escalation(ROOT, wanted, roles=roles) == ""
    assert binding_escalation(SAM, binding("r", "Role", TEAM), roles=roles) == ""
    assert binding_escalation(SAM, binding("nosuch", "Role", TEAM), roles=roles) is None


def test_the_verbs_bind_and_escalate_open_those_doors() -> None:
    rbac = "rbac.authorization.k8s.io"
    roles = granted(rule("bind", "clusterroles", rbac, "cluster-admin"), rule("escalate", "roles", rbac))
    assert binding_escalation(SAM, binding("cluster-admin", "ClusterRole", TEAM), roles=roles) == ""
    assert role_escalation(SAM, role("y", rule("*", "*", "*")), roles=roles) == ""
    assert role_escalation(SAM, role("y", rule("*", "*", "*"), namespace="other"), roles=roles)


def test_names_and_wildcards_count_when_granting() -> None:
    roles = granted(rule("get", "configmaps", names="a"), rule("*", "*", "batch"), rule("patch", "*/scale"))
    assert role_escalation(SAM, role("x", rule("get", "configmaps", names="a")), roles=roles) == ""
    assert "ResourceNames" in role_escalation(SAM, role("x", rule("get", "configmaps", names="b")), roles=roles)
    assert role_escalation(SAM, role("x", rule("get", "configmaps")), roles=roles)
    assert role_escalation(SAM, role("x", rule("get delete", "jobs/status", "batch")), roles=roles) == ""
    assert role_escalation(SAM, role("x", rule("patch", "pods/scale")), roles=roles) == ""
    assert role_escalation(SAM, role("x", rule("*", "pods/scale")), roles=roles)
    sums = {"kind": "ClusterRole", "metadata": {"name": "s"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}
    assert role_escalation(SAM, sums, roles=roles), "who adds up roles may come to hold anything"


def test_aggregated_roles_add_up_through_each_other() -> None:
    rules = aggregated(CLUSTER_ROLES)
    assert set(rules[VIEWER]) <= set(rules["view"]) <= set(rules["edit"]) <= set(rules["admin"])
    assert set(rules[USER]) <= set(rules["edit"])
    loop = [
        {"metadata": {"name": n, "labels": {"x": n}}, "aggregationRule": {"clusterRoleSelectors": [
            {"matchLabels": {"x": m}}]}}
        for n, m in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    assert aggregated(loop) == {"a": (), "b": ()}


@pytest.mark.parametrize(
    ("asked", "group", "who"),
    [
        ("list trainjobs", TRAINER, {VIEWER, USER, ADMIN}),
        ("list trainjobs", "kubeflow.org", {VIEWER, USER, ADMIN}),
        ("get pods/log p", "", {VIEWER, USER, ADMIN}),
        ("create trainjobs", TRAINER, {USER, ADMIN}),
        ("patch trainjobs/scale t", TRAINER, {USER, ADMIN}),
        ("create pods/exec p", "", {USER, ADMIN}),
        ("update trainjobs/status t", TRAINER, {ADMIN}),
        ("create clustertrainingruntimes", TRAINER, {ADMIN}),
        ("delete pods p", "", {ADMIN}),
        ("create pods", "", {ADMIN}),
        ("get secrets s", "", set()),
        ("create rolebindings", "rbac.authorization.k8s.io", set()),
        ("create serviceaccounts/token s", "", set()),
        ("impersonate users", "", set()),
    ],
)
def test_the_three_roles_of_training_have_no_more_than_they_need(asked: str, group: str, who: set[str]) -> None:
    roles = Roles(cluster_roles=CLUSTER_ROLES, cluster_role_bindings=CLUSTER_ROLE_BINDINGS)
    held = {name for name, of in GROUPS.items() if may(roles, User("u", (of,)), asked, group)}
    assert held == who


def test_acting_as_another_needs_leave_for_the_name_and_each_group() -> None:
    asked = Attributes("list", "configmaps", namespace="ml")
    refused = impersonation_refused(SAM, asked, whom=User("admin"), roles=granted())
    assert refused is not None
    assert forbidden(SAM, refused).endswith(
        'cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ml"'
    )
    leave = Roles(
        cluster_roles=[role("r", rule("impersonate", "users", names="bob"), namespace="")],
        cluster_role_bindings=[binding("r", "ClusterRole", SAM_SUBJECT, "")],
    )
    assert impersonation_refused(SAM, asked, whom=User("bob"), roles=leave) is None
    assert impersonation_refused(SAM, asked, whom=User("eve"), roles=leave) is not None
    assert impersonation_refused(SAM, asked, whom=User("bob", ("g",)), roles=leave) is not None
    assert impersonation_refused(SAM, asked, whom=User("bob", uid="1"), roles=leave) is not None
    more = User("bob", extra=(("scopes", ("all",)),))
    assert impersonation_refused(SAM, asked, whom=more, roles=leave) is not None
    assert impersonated(User("bob", ("g1",))).groups == ("g1", "system:authenticated")
    assert impersonated(User("system:serviceaccount:ml:sam")) == SAM
