"""Who is asking, what they want to do, and the words in which it is refused."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw

MASTERS = "system:masters"
"""The group that may do everything, whatever the roles say."""
AUTHENTICATED = "system:authenticated"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS = "system:serviceaccounts"


class User(msgspec.Struct, frozen=True):
    """A name and the groups it belongs to, as one request has proved them."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def info(self) -> Raw:
        """The userInfo of reviews and admission."""
        info: Raw = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra}
        return info


class Attributes(msgspec.Struct, frozen=True):
    """One request as access rules see it: a verb on a resource, or on a `path` that is none.

    The namespace of a Namespace object is its own name.
    """

    verb: str
    resource: str = ""
    group: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    version: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """`pods`, or `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Verdict(msgspec.Struct, frozen=True):
    """Whether it is allowed, and by which binding."""

    allowed: bool
    reason: str = ""


def service_account(
    namespace: str, name: str, *, uid: str = "", extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
) -> User:
    """The user that a ServiceAccount is."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", groups, uid, extra)


def authenticated(user: User) -> User:
    """The user with the group of all who proved who they are."""
    if AUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))


def forbidden(user: User, attributes: Attributes) -> str:
    """The sentence of a 403, as a real API server says it."""
    if attributes.path:
        return f'forbidden: User "{user.name}" cannot {attributes.verb} path "{attributes.path}"'
    where = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    return (
        f'{refused_object(attributes)} is forbidden: User "{user.name}" cannot {attributes.verb} resource '
        f'"{attributes.full_resource}" in API group "{attributes.group}" {where}'
    )


def refused_object(attributes: Attributes) -> str:
    """What a refusal is about: `pods`, `pods "a"` or `trainjobs.trainer.kubeflow.org "a"`."""
    resource = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    return f'{resource} "{attributes.name}"' if attributes.name else resource


def forbidden_details(attributes: Attributes) -> Raw:
    """The details of a 403's Status."""
    if attributes.path:
        return {}
    details = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
    return {key: value for key, value in details.items() if value}


def resource_attributes(said: Mapping[str, Any]) -> Attributes:
    """What a review asks about, from its resourceAttributes."""
    known = ("verb", "resource", "group", "subresource", "name", "namespace", "version")
    return Attributes(**{key: str(said.get(key) or "") for key in known})
