"""Reviews, which are questions and not objects: may I, may they, what may I, who am I."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.cluster.access import AUTHENTICATED, SERVICE_ACCOUNT_PREFIX, Attributes, User, Verdict, service_account
from trainplane.cluster.access import resource_attributes as read_attributes
from trainplane.cluster.errors import BadRequest
from trainplane.cluster.rbac import Roles, Rule

AUTHORIZATION = "authorization.k8s.io/v1"
AUTHENTICATION = "authentication.k8s.io/v1"
_ANONYMOUS, _UNAUTHENTICATED = "system:anonymous", "system:unauthenticated"


class ReviewError(ValueError):
    """A review that cannot be answered: a 422 about `field`, or a 400 where it names none."""

    def __init__(self, what: str, field: str = "") -> None:
        """`what` is the message of the cause, such as `Invalid value: null: …`."""
        super().__init__(what)
        self.what = what
        self.field = field


def access_review(raw: Mapping[str, Any], user: User, *, roles: Roles, namespace: str = "") -> Raw:
    """The answer to a Self-, Local- or plain SubjectAccessReview; `namespace` is the path's, of a local one."""
    kind, spec = raw["kind"], raw.get("spec") or {}
    asked = _asked(spec)
    about = user if kind == "SelfSubjectAccessReview" else _subject(spec)
    if kind == "LocalSubjectAccessReview" and asked.namespace != namespace:
        raise ReviewError(
            f'Invalid value: "{asked.namespace}": must match metadata.namespace', "spec.resourceAttributes.namespace"
        )
    return _answered(raw, AUTHORIZATION, _status(roles.allowed(about, asked)))


def rules_review(raw: Mapping[str, Any], user: User, *, roles: Roles) -> Raw:
    """The answer to a SelfSubjectRulesReview: all that the user may do in a namespace."""
    namespace = (raw.get("spec") or {}).get("namespace")
    if not namespace:
        raise ReviewError("no namespace on request")
    rules = roles.rules(user, namespace)
    status = {
        "resourceRules": [_verbs_on(rule) for rule in sorted(rules, key=_order) if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)}
            for rule in sorted(rules, key=lambda rule: rule.urls)
            if rule.urls
        ],
        "incomplete": False,
    }
    return {**_answered(raw, AUTHORIZATION, status), "spec": {}}


def self_review(raw: Mapping[str, Any], user: User, *, now: datetime) -> Raw:
    """The answer to a SelfSubjectReview, which `kubectl auth whoami` asks."""
    metadata = {"creationTimestamp": stamp(now)}
    answer = {"kind": raw.get("kind", "SelfSubjectReview"), "apiVersion": AUTHENTICATION, "metadata": metadata}
    return {**answer, "status": {"userInfo": user.info}}


def impersonation_refused(user: User, asked: Attributes, *, whom: User, roles: Roles) -> Attributes | None:
    """What to say in the 403 to a user who may not act as another as they are told to be; None where they may."""
    name, group = whom.name, "authentication.k8s.io"
    if name.startswith(SERVICE_ACCOUNT_PREFIX):
        namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        needed = [Attributes("impersonate", "serviceaccounts", name=account, namespace=namespace)]
    else:
        needed = [Attributes("impersonate", "users", name=name)]
    needed += [Attributes("impersonate", "groups", name=each) for each in whom.groups]
    needed += [Attributes("impersonate", "uids", group, name=whom.uid)] if whom.uid else []
    needed += [
        Attributes("impersonate", "userextras", group, key, value) for key, values in whom.extra for value in values
    ]
    if all(roles.allowed(user, each).allowed for each in needed):
        return None
    # The words of a real server since 1.36, which speaks of the request and not of the name.
    return msgspec.structs.replace(asked, verb=f"impersonate-on:user-info:{asked.verb}")


def nameless_impersonation(whom: User) -> BadRequest:
    """The refusal of who would act in the name of somebody without one."""
    extra = ", ".join(f'"{key}":{_texts(values)}' for key, values in sorted(whom.extra))
    shown = f'Name:"", UID:"{whom.uid}", Groups:{_texts(whom.groups)}, '
    shown += f"Extra:map[string][]string{{{extra}}}" if extra else "Extra:map[string][]string(nil)"
    return BadRequest(f"requested &user.DefaultInfo{{{shown}}} without impersonating a user name")


def _texts(texts: tuple[str, ...]) -> str:
    """Some texts, as Go shows them."""
    return f"[]string{{{', '.join(json.dumps(text) for text in texts)}}}" if texts else "[]string(nil)"


def impersonated(whom: User) -> User:
    """The user that impersonation makes; one without groups has those that its name brings."""
    name, groups, uid = whom.name, whom.groups, whom.uid
    is_account = name.startswith(SERVICE_ACCOUNT_PREFIX) and ":" in name.removeprefix(SERVICE_ACCOUNT_PREFIX)
    if is_account and not groups:
        namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        made = service_account(namespace, account, uid=uid)
        return msgspec.structs.replace(made, extra=whom.extra) if whom.extra else made
    everyone = _UNAUTHENTICATED if name == _ANONYMOUS else AUTHENTICATED
    return User(name, tuple(dict.fromkeys((*groups, everyone))), uid, whom.extra)


def _asked(spec: Mapping[str, Any]) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = json.dumps({"Path": path.get("path") or "", "Verb": path.get("verb") or ""}, separators=(",", ":"))
        words = "cannot be specified in combination with resourceAttributes"
        raise ReviewError(f"Invalid value: {shown}: {words}", "spec.nonResourceAttributes")
    if resource is None and path is None:
        raise ReviewError(
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            "spec.resourceAttributes",
        )
    if path is not None:
        return Attributes(str(path.get("verb") or ""), path=str(path.get("path") or "/"))
    return read_attributes(resource or {})


def _subject(spec: Mapping[str, Any]) -> User:
    name, groups = spec.get("user") or "", tuple(spec.get("groups") or ())
    if not name and not groups:
        raise ReviewError('Invalid value: "": at least one of user or group must be specified', "spec.user")
    return User(name, groups, spec.get("uid") or "")


def _status(verdict: Verdict) -> Raw:
    return {"allowed": verdict.allowed} | ({"reason": verdict.reason} if verdict.reason else {})


def _answered(raw: Mapping[str, Any], api_version: str, status: Raw) -> Raw:
    answer: Raw = {"kind": raw["kind"], "apiVersion": api_version, "metadata": raw.get("metadata") or {}}
    return {**answer, "spec": raw.get("spec") or {}, "status": status}


def _verbs_on(rule: Rule) -> Raw:
    return {key: value for key, value in rule.raw.items() if key != "nonResourceURLs"}


def _order(rule: Rule) -> tuple[tuple[str, ...], ...]:
    return rule.groups, rule.resources, rule.names, rule.verbs
