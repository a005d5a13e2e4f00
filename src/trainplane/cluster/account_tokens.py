"""Tokens of service accounts: signed, short-lived, and bound to the account and the pod they were made for."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.cluster.access import SERVICE_ACCOUNT_PREFIX, User, service_account

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

_ALGORITHM = "ES256"
_HALF = 32
_EXTRA = "authentication.kubernetes.io/"
DEFAULT_LIFE = 3600
SHORTEST_LIFE = 600
LONGEST_LIFE = 2**32
BOUND_KINDS = {("v1", "Pod"): "pod", ("v1", "Secret"): "secret", ("v1", "Node"): "node"}


class TokenRequestError(ValueError):
    """A TokenRequest that cannot be granted: `what` is the cause's message, about `field`."""

    def __init__(self, what: str, field: str) -> None:
        """As in a 422."""
        super().__init__(what)
        self.what = what
        self.field = field


class Bound(msgspec.Struct, frozen=True):
    """An object that a token is bound to; the token dies with it."""

    name: str
    uid: str = ""


class KubernetesClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whose token it is, and what it is bound to."""

    namespace: str
    serviceaccount: Bound
    pod: Bound | None = None
    secret: Bound | None = None
    node: Bound | None = None


class Claims(msgspec.Struct, frozen=True):
    """What a token says."""

    aud: tuple[str, ...]
    exp: int
    iat: int
    nbf: int
    iss: str
    sub: str
    jti: str
    kubernetes: KubernetesClaims = msgspec.field(name="kubernetes.io")

    @property
    def user(self) -> User:
        """The service account as the user of a request."""
        said, extra = self.kubernetes, [(f"{_EXTRA}credential-id", (f"JTI={self.jti}",))]
        if said.node:
            extra.append((f"{_EXTRA}node-name", (said.node.name,)))
        if said.pod:
            extra += [(f"{_EXTRA}pod-name", (said.pod.name,)), (f"{_EXTRA}pod-uid", (said.pod.uid,))]
        account = said.serviceaccount
        return service_account(said.namespace, account.name, uid=account.uid, extra=tuple(extra))


class _Header(msgspec.Struct, frozen=True):
    alg: str
    kid: str = ""


class AccountTokens:
    """Signs and verifies the tokens of one cluster's service accounts; cryptography is loaded for the first of them."""

    def __init__(self, key: "Callable[[], ec.EllipticCurvePrivateKey]", *, issuer: str) -> None:
        """`key` reads one on the curve P-256; `issuer` is this API's address, and the audience if none is asked for."""
        self.issuer = issuer
        self._read_key = key

    @cached_property
    def _key(self) -> "ec.EllipticCurvePrivateKey":
        return self._read_key()

    def prepare(self) -> None:
        """Load what signs now, and not when the first token is asked for; in any thread."""
        self._sign(self._id.encode())

    @cached_property
    def _id(self) -> str:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _text(hashlib.sha256(public).digest())

    def grant(
        self,
        request: Mapping[str, Any],
        account: Mapping[str, Any],
        *,
        bound: Mapping[str, Any] | None = None,
        token_id: str,
        now: datetime,
    ) -> Raw:
        """The answer to a TokenRequest for a ServiceAccount; `bound` is the living object of its boundObjectRef.

        Raises TokenRequestError. That the object exists, with the uid the request names, is the caller's to check.
        """
        spec: Raw = request.get("spec") or {}
        seconds = _life(spec.get("expirationSeconds"))
        audiences = tuple(spec.get("audiences") or (self.issuer,))
        about, reference = account["metadata"], spec.get("boundObjectRef")
        ties: Raw = {}
        if reference is not None:
            ties = _ties(reference, bound or {})
        said = KubernetesClaims(about["namespace"], Bound(about["name"], about["uid"]), **ties)
        start, end = int(now.timestamp()), now + timedelta(seconds=seconds)
        subject = f"{SERVICE_ACCOUNT_PREFIX}{about['namespace']}:{about['name']}"
        claims = Claims(audiences, int(end.timestamp()), start, start, self.issuer, subject, token_id, kubernetes=said)
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": about["name"],
                "namespace": about["namespace"],
                "uid": about["uid"],
                "creationTimestamp": about.get("creationTimestamp"),
            },
            "spec": {"audiences": list(audiences), "expirationSeconds": seconds, "boundObjectRef": reference},
            "status": {
                "token": self.sign(claims),
                "expirationTimestamp": stamp(end),
            },
        }

    def sign(self, claims: Claims) -> str:
        """The token of these claims."""
        head = _text(msgspec.json.encode(_Header(_ALGORITHM, self._id)))
        signed = f"{head}.{_text(msgspec.json.encode(claims))}"
        return f"{signed}.{_text(self._sign(signed.encode()))}"

    def _sign(self, text: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        r, s = decode_dss_signature(self._key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")

    def verify(self, token: str, *, now: datetime, audiences: Sequence[str] = ()) -> Claims | None:
        """What a token says, if it is ours, for one of these audiences (the API by default), and holds now."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        try:
            head, body, mark = token.split(".")
            header = msgspec.json.decode(_bytes(head), type=_Header)
            raw = _bytes(mark)
            # The algorithm is ours to name, never the token's: `none` and foreign keys end here.
            if header != _Header(_ALGORITHM, self._id) or len(raw) != 2 * _HALF:
                return None
            halves = int.from_bytes(raw[:_HALF], "big"), int.from_bytes(raw[_HALF:], "big")
            self._key.public_key().verify(
                encode_dss_signature(*halves), f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256())
            )
            claims = msgspec.json.decode(_bytes(body), type=Claims)
        except (ValueError, msgspec.DecodeError, InvalidSignature):
            return None
        wanted = set(audiences or (self.issuer,))
        holds = claims.nbf <= now.timestamp() < claims.exp and claims.iss == self.issuer
        return claims if holds and wanted & set(claims.aud) else None

    def keys(self) -> Raw:
        """`/openid/v1/jwks`: the public key, for others who want to verify tokens."""
        numbers = self._key.public_key().public_numbers()
        x, y = (_text(number.to_bytes(_HALF, "big")) for number in (numbers.x, numbers.y))
        key = {"use": "sig", "kty": "EC", "kid": self._id, "crv": "P-256", "alg": _ALGORITHM, "x": x, "y": y}
        return {"keys": [key]}

    def configuration(self) -> Raw:
        """`/.well-known/openid-configuration`."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [_ALGORITHM],
        }


def _life(asked: Any) -> int:
    seconds = DEFAULT_LIFE if asked is None else asked
    field = "spec.expirationSeconds"
    if seconds < SHORTEST_LIFE:
        raise TokenRequestError(f"Invalid value: {seconds}: may not specify a duration less than 10 minutes", field)
    if seconds > LONGEST_LIFE:
        raise TokenRequestError(f"Invalid value: {seconds}: may not specify a duration larger than 2^32 seconds", field)
    return int(seconds)


def _ties(reference: Mapping[str, Any], bound: Mapping[str, Any]) -> Raw:
    """The claims that bind a token to an object; a pod's node goes with it."""
    kind = BOUND_KINDS.get((reference.get("apiVersion", "v1"), reference.get("kind", "")))
    if kind is None:
        said = f"{reference.get('apiVersion', '')}, Kind={reference.get('kind', '')}"
        raise TokenRequestError(
            f'Invalid value: "{said}": a token is bound to a Pod, a Secret or a Node', "spec.boundObjectRef"
        )
    about: Raw = bound.get("metadata") or {}
    ties: Raw = {kind: Bound(str(about.get("name", reference.get("name", ""))), str(about.get("uid", "")))}
    node = (bound.get("spec") or {}).get("nodeName")
    if kind == "pod" and node:
        ties["node"] = Bound(node)
    return ties


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
