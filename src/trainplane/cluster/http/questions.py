"""What is answered but not stored: reviews of access and of tokens, and tokens of service accounts."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.access import MASTERS, Attributes, User
from trainplane.cluster.account_tokens import BOUND_KINDS, AccountTokens, TokenRequestError
from trainplane.cluster.causes import Cause
from trainplane.cluster.errors import BadRequest, Forbidden, Invalid, NotFound
from trainplane.cluster.escalation import binding_escalation, role_escalation
from trainplane.cluster.ground import Ground
from trainplane.cluster.identity import Identity
from trainplane.cluster.log import Key
from trainplane.cluster.rbac import Roles
from trainplane.cluster.reviews import ReviewError, access_review, rules_review, self_review

_RBAC = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
_GROUP = "rbac.authorization.k8s.io"


class Access:
    """Who may do what, by the roles that are stored; read again when one of them changes."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._roles = Roles()
        self._at: tuple[int, ...] = ()
        ground.check_grant = self.check_grant

    @property
    def roles(self) -> Roles:
        """The roles as they are now."""
        store = self._ground.store
        at = tuple(store.changed(f"{plural}.{_GROUP}") for plural in _RBAC)
        if at != self._at:
            found = [[stored.object for stored in store.list(f"{plural}.{_GROUP}").items] for plural in _RBAC]
            self._roles = Roles(
                roles=found[0], cluster_roles=found[1], role_bindings=found[2], cluster_role_bindings=found[3]
            )
            self._at = at
        return self._roles

    def check_grant(self, user: User, raw: Raw) -> None:
        """Refuse a role or a binding that would give more than the user has; raises Forbidden or NotFound."""
        if not raw.get("apiVersion", "").startswith(f"{_GROUP}/") or MASTERS in user.groups:
            return
        name, resource = raw["metadata"].get("name", ""), f"{raw['kind'].lower()}s.{_GROUP}"
        if raw["kind"] in ("Role", "ClusterRole"):
            why: str | None = role_escalation(user, raw, roles=self.roles)
        else:
            why = binding_escalation(user, raw, roles=self.roles)
        if why is None:
            raise NotFound.of(resource, raw["roleRef"]["name"])
        if why:
            raise Forbidden.of(resource, name, why)

    def allowed(self, user: User, asked: Attributes) -> bool:
        """Whether a user may do what they ask."""
        return self.roles.allowed(user, asked).allowed


class Questions:
    """The resources that only answer."""

    def __init__(
        self,
        ground: Ground,
        *,
        access: Access,
        identity: Identity,
        accounts: AccountTokens,
        now: Callable[[], datetime],
    ) -> None:
        self._ground = ground
        self._access = access
        self._identity = identity
        self._accounts = accounts
        self._now = now

    def prepare(self) -> None:
        """Load what signs tokens; what is wrong with it is told to whoever asks for one."""
        with suppress(OSError):
            self._accounts.prepare()

    def review(self, plural: str, raw: Raw, user: User, *, namespace: str = "") -> Raw:
        """The answer to a review."""
        group = "authentication.k8s.io" if plural in ("selfsubjectreviews", "tokenreviews") else "authorization.k8s.io"
        try:
            match plural:
                case "selfsubjectreviews":
                    return self_review(raw, user, now=self._now())
                case "tokenreviews":
                    if not look(raw, "spec", "token"):
                        raise BadRequest("token is required for TokenReview in authentication")
                    return self._identity.review(raw, now=self._now())
                case "selfsubjectrulesreviews":
                    return rules_review(raw, user, roles=self._access.roles)
                case _:
                    return access_review(raw, user, roles=self._access.roles, namespace=namespace)
        except ReviewError as error:
            if not error.field:
                raise BadRequest(error.what) from None
            raise Invalid.of(f".{group}", "", [Cause("FieldValueInvalid", error.field, error.what)]) from None

    def openid(self, path: str) -> Raw:
        """What others need to verify tokens: the keys, or where they are."""
        return self._accounts.keys() if path.endswith("jwks") else self._accounts.configuration()

    def token(self, namespace: str, name: str, raw: Raw) -> Raw:
        """A token of a service account."""
        account = self._ground.find(Key("serviceaccounts", namespace, name))
        if account is None:
            raise NotFound.of("serviceaccounts", name)
        reference = look(raw, "spec", "boundObjectRef")
        bound: Raw | None = None
        if reference:
            bound = self._bound(reference, namespace)
        try:
            return self._accounts.grant(raw, account.object, bound=bound, token_id=self._ground.uid(), now=self._now())
        except TokenRequestError as error:
            cause = Cause("FieldValueInvalid", error.field, str(error))
            raise Invalid.of("TokenRequest.authentication.k8s.io", "", [cause]) from None

    def _bound(self, reference: Raw, namespace: str) -> Raw:
        version, kind = str(reference.get("apiVersion") or ""), str(reference.get("kind") or "")
        if (version, kind) not in BOUND_KINDS:
            group, _, short = version.rpartition("/")
            raise BadRequest(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
        plural = f"{kind.lower()}s"
        where = "" if plural == "nodes" else namespace
        stored = self._ground.find(Key(plural, where, str(reference.get("name", ""))))
        if stored is None:
            raise NotFound.of(plural, str(reference.get("name", "")))
        return stored.object
