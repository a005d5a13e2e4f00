"""Who sends a request: by client certificate, by bearer token, or as a service account; never nobody."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainplane.api.meta import Raw
from trainplane.cluster.access import User, authenticated
from trainplane.cluster.account_tokens import AccountTokens, Claims
from trainplane.cluster.private_files import private_folder, read_private, write_private
from trainplane.cluster.tokens import Tokens

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

SIGNING_KEY_FILE = "service-accounts.key"
Uid = Callable[[str, str, str], str | None]
"""The uid of the living object of a plural, namespace and name; None where there is none."""

_REMEMBERED = 2048


def signing_key(folder: Path) -> "ec.EllipticCurvePrivateKey":
    """The key that signs service accounts' tokens, made on first use."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    path = private_folder(folder) / SIGNING_KEY_FILE
    pem = read_private(path)
    if pem is not None:
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except ValueError:
            key = None
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return key
    made = ec.generate_private_key(ec.SECP256R1())
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    write_private(path, made.private_bytes(serialization.Encoding.PEM, form, plain))
    return made


def bearer(authorization: str) -> str:
    """The token of an Authorization header, or ""."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def certificate_user(certificate: Mapping[str, Any] | None) -> User | None:
    """Whom a verified certificate, as `getpeercert` gives it, is for: the common name, in its organizations."""
    said = [part for name in (certificate or {}).get("subject", ()) for part in name]
    names = [value for key, value in said if key == "commonName"]
    groups = tuple(value for key, value in said if key == "organizationName")
    return User(names[-1], groups) if names else None


class Identity:
    """Tells who is asking, from all that a request can show."""

    def __init__(self, tokens: Tokens, accounts: AccountTokens, *, uid: Uid) -> None:
        """`uid` looks living objects up, so that a token ends with its account and its pod."""
        self._tokens = tokens
        self._accounts = accounts
        self._uid = uid
        self._verified: OrderedDict[bytes, Claims] = OrderedDict()

    def authenticate(
        self, *, authorization: str = "", certificate: Mapping[str, Any] | None = None, now: datetime
    ) -> User | None:
        """Who is asking, or None: then the answer is 401."""
        user = certificate_user(certificate)
        if user is None:
            token = bearer(authorization)
            user = self.token_user(token, now=now) if token else None
        return authenticated(user) if user else None

    def token_user(self, token: str, *, now: datetime, audiences: Sequence[str] = ()) -> User | None:
        """Whose token this is, or None."""
        if token.count(".") != 2:
            return self._tokens.authenticate(token, now=now)
        claims = self._claims(token, now=now, audiences=audiences)
        return claims.user if claims and self._alive(claims) else None

    def review(self, raw: Mapping[str, Any], *, now: datetime) -> Raw:
        """The answer to a TokenReview."""
        spec: Raw = raw.get("spec") or {}
        audiences = list(spec.get("audiences") or (self._accounts.issuer,))
        user = self.token_user(str(spec.get("token") or ""), now=now, audiences=audiences)
        status: Raw = {"user": {}, "error": "invalid bearer token"}
        if user:
            status = {"authenticated": True, "user": authenticated(user).info, "audiences": audiences}
        answer = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}}
        return {**answer, "spec": spec, "status": status}

    def _claims(self, token: str, *, now: datetime, audiences: Sequence[str]) -> Claims | None:
        """A token's claims; signatures that were good once are not computed again while they last."""
        if audiences:
            return self._accounts.verify(token, now=now, audiences=audiences)
        key = sha256(token.encode()).digest()
        known = self._verified.get(key)
        if known is not None:
            self._verified.move_to_end(key)
            return known if now.timestamp() < known.exp else None
        claims = self._accounts.verify(token, now=now)
        if claims is not None:
            self._verified[key] = claims
            if len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        return claims

    def _alive(self, claims: Claims) -> bool:
        said, home = claims.kubernetes, claims.kubernetes.namespace
        # A pod's node is only told, and has no uid here; a token of its own for a node is bound to it.
        node = said.node if said.node and said.node.uid else None
        bound = (
            ("serviceaccounts", home, said.serviceaccount),
            ("pods", home, said.pod),
            ("secrets", home, said.secret),
            ("nodes", "", node),
        )
        return all(tie is None or self._uid(plural, where, tie.name) == tie.uid for plural, where, tie in bound)
