"""Who sends a request: tokens, service accounts and certificates, and all that must not pass for one."""

import base64
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from trainplane.cluster.access import User
from trainplane.cluster.account_tokens import AccountTokens, TokenRequestError
from trainplane.cluster.identity import Identity, bearer, certificate_user, signing_key
from trainplane.cluster.tokens import Tokens, TokensError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUER = "https://127.0.0.1:6443"
ACCOUNT = {"metadata": {"namespace": "ml", "name": "sam", "uid": "u-sam", "creationTimestamp": "2026-03-01T00:00:00Z"}}
POD = {"metadata": {"namespace": "ml", "name": "p", "uid": "u-p"}, "spec": {"nodeName": "n1"}}
KEY = ec.generate_private_key(ec.SECP256R1())


class World:
    """An identity with its tokens, and the objects that live."""

    def __init__(self, folder: Path) -> None:
        self.tokens = Tokens(folder)
        self.accounts = AccountTokens(lambda: KEY, issuer=ISSUER)
        self.living = {("serviceaccounts", "ml", "sam"): "u-sam", ("pods", "ml", "p"): "u-p"}
        self.identity = Identity(self.tokens, self.accounts, uid=lambda *key: self.living.get(key))

    def who(self, token: str, now: datetime = NOW) -> User | None:
        """Whom a bearer token is."""
        return self.identity.authenticate(authorization=f"Bearer {token}", now=now)

    def grant(self, bound: dict[str, Any] | None = None, **spec: Any) -> Any:
        """A TokenRequest answered for sam."""
        return self.accounts.grant({"spec": spec}, ACCOUNT, bound=bound, token_id="j1", now=NOW)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fresh one."""
    return World(tmp_path / "identity")


def test_a_token_says_who_holds_it(world: World) -> None:
    text, _ = world.tokens.create("ann", groups=("team",), now=NOW)
    assert world.who(text) == User("ann", ("team", "system:authenticated"))


def test_only_the_whole_token_counts(world: World) -> None:
    text, token = world.tokens.create("ann", now=NOW)
    last = "A" if text[-1] != "A" else "B"
    for wrong in ("", "x", text[:-1], text[:-1] + last, f"{text} ", f"tp_{token.id}_", token.sha256, text.upper()):
        if wrong.strip() != text:
            assert world.who(wrong) is None, wrong


def test_the_secret_is_not_kept(world: World, tmp_path: Path) -> None:
    text, token = world.tokens.create("ann", now=NOW)
    file = tmp_path / "identity" / "tokens.json"
    secret = text.split("_", 2)[2]
    assert secret not in file.read_text(encoding="utf-8")
    assert secret not in repr(token)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_tokens_expire_and_are_revoked_by_id_or_user(world: World) -> None:
    short, _ = world.tokens.create("ann", now=NOW, life=timedelta(hours=1))
    one, token = world.tokens.create("bob", now=NOW)
    two, _ = world.tokens.create("bob", now=NOW)
    assert world.who(short, NOW + timedelta(minutes=59)) is not None
    assert world.who(short, NOW + timedelta(hours=1)) is None
    assert [gone.id for gone in world.tokens.revoke(token.id)] == [token.id]
    assert world.who(one) is None
    assert world.who(two) is not None
    world.tokens.revoke("bob")
    assert world.who(two) is None
    assert world.tokens.revoke("nobody") == ()


def test_what_another_process_does_to_tokens_is_seen_at_once(world: World, tmp_path: Path) -> None:
    text, _ = world.tokens.create("ann", now=NOW)
    assert world.who(text) is not None
    elsewhere = Tokens(tmp_path / "identity")
    added, _ = elsewhere.create("bob", now=NOW)
    assert world.who(added) is not None
    elsewhere.revoke("ann")
    assert world.who(text) is None
    assert [token.user for token in world.tokens.list()] == ["bob"]


def test_a_broken_file_of_tokens_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "identity" / "tokens.json").write_text("{}", encoding="utf-8")
    with pytest.raises(TokensError, match=r"tokens\.json .*; remove it"):
        world.tokens.list()


def test_a_token_request_is_answered_as_a_real_server_does(world: World) -> None:
    answer = world.grant()
    token = answer["status"].pop("token")
    assert answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": ACCOUNT["metadata"],
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-03-01T13:00:00Z"},
    }
    user = world.who(token)
    assert user is not None
    assert user.info == {
        "username": "system:serviceaccount:ml:sam",
        "uid": "u-sam",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:ml", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": ["JTI=j1"]},
    }


def test_a_token_for_a_pod_says_which_and_dies_with_it(world: World) -> None:
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "u-p"}
    token = world.grant(POD, boundObjectRef=reference)["status"]["token"]
    user = world.who(token)
    assert user is not None
    assert dict(user.extra) == {
        "authentication.kubernetes.io/credential-id": ("JTI=j1",),
        "authentication.kubernetes.io/node-name": ("n1",),
        "authentication.kubernetes.io/pod-name": ("p",),
        "authentication.kubernetes.io/pod-uid": ("u-p",),
    }
    world.living["pods", "ml", "p"] = "another"
    assert world.who(token) is None


def test_a_token_dies_with_its_account_and_its_hour(world: World) -> None:
    token = world.grant()["status"]["token"]
    assert world.who(token, NOW + timedelta(seconds=3599)) is not None
    assert world.who(token, NOW + timedelta(seconds=3600)) is None
    del world.living["serviceaccounts", "ml", "sam"]
    assert world.who(token) is None


def test_a_token_for_others_is_not_one_for_the_api(world: World) -> None:
    token = world.grant(audiences=["vault"])["status"]["token"]
    assert world.who(token) is None
    assert world.accounts.verify(token, now=NOW, audiences=["vault"]) is not None


def tampered(token: str) -> list[str]:
    """Forgeries of a token."""
    head, body, mark = token.split(".")

    def text(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    def value(part: str) -> Any:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))

    header, claims = value(head), value(body)
    return [
        f"{head}.{text(claims | {'sub': 'system:serviceaccount:ml:root'})}.{mark}",
        f"{text(header | {'alg': 'none'})}.{body}.",
        f"{text(header | {'alg': 'HS256'})}.{body}.{mark}",
        f"{text(header | {'kid': 'x'})}.{body}.{mark}",
        f"{head}.{body}.{mark[:-4]}",
        f"{head}.{body}.{'A' * len(mark)}",
        f"{head}.{body}.@@",
        f"..{mark}",
        "a.b.c",
    ]


def test_forged_tokens_are_nobodys(world: World) -> None:
    token = world.grant()["status"]["token"]
    assert world.who(token) is not None
    assert [world.who(forged) for forged in tampered(token)] == [None] * 9
    strange = ec.generate_private_key(ec.SECP256R1())
    other = AccountTokens(lambda: strange, issuer=ISSUER)
    foreign = other.grant({}, ACCOUNT, token_id="j", now=NOW)["status"]["token"]
    assert world.who(foreign) is None


@pytest.mark.parametrize(
    ("spec", "field", "what"),
    [
        (
            {"expirationSeconds": 60},
            "spec.expirationSeconds",
            "Invalid value: 60: may not specify a duration less than 10 minutes",
        ),
        (
            {"expirationSeconds": 99999999999},
            "spec.expirationSeconds",
            "Invalid value: 99999999999: may not specify a duration larger than 2^32 seconds",
        ),
        (
            {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1"}},
            "spec.boundObjectRef",
            'Invalid value: "v1, Kind=ConfigMap": a token is bound to a Pod, a Secret or a Node',
        ),
    ],
)
def test_token_requests_that_cannot_be_granted(world: World, spec: dict[str, Any], field: str, what: str) -> None:
    with pytest.raises(TokenRequestError) as refused:
        world.grant(**spec)
    assert (refused.value.field, refused.value.what) == (field, what)


def test_token_reviews(world: World) -> None:
    token = world.grant()["status"]["token"]
    good = world.identity.review({"spec": {"token": token}}, now=NOW)["status"]
    assert good["authenticated"]
    assert good["audiences"] == [ISSUER]
    assert good["user"]["username"] == "system:serviceaccount:ml:sam"
    bad = world.identity.review({"spec": {"token": "bad"}}, now=NOW)["status"]
    assert bad == {"user": {}, "error": "invalid bearer token"}


def test_the_public_key_is_published(world: World) -> None:
    (key,) = world.accounts.keys()["keys"]
    assert (key["kty"], key["crv"], key["alg"]) == ("EC", "P-256", "ES256")
    assert "d" not in key
    assert world.accounts.configuration()["jwks_uri"] == f"{ISSUER}/openid/v1/jwks"


def test_the_signing_key_is_made_once(tmp_path: Path) -> None:
    first, second = signing_key(tmp_path / "k"), signing_key(tmp_path / "k")
    assert first.private_numbers() == second.private_numbers()
    assert stat.S_IMODE((tmp_path / "k" / "service-accounts.key").stat().st_mode) == 0o600


def test_a_certificate_says_who_and_in_which_groups(world: World) -> None:
    peer = {"subject": ((("organizationName", "team"),), (("organizationName", "b"),), (("commonName", "ann"),))}
    assert certificate_user(peer) == User("ann", ("team", "b"))
    assert world.identity.authenticate(certificate=peer, now=NOW) == User("ann", ("team", "b", "system:authenticated"))
    assert certificate_user({"subject": ((("organizationName", "team"),),)}) is None
    assert certificate_user(None) is None


def test_nobody_is_nobody(world: World) -> None:
    for header in ("", "Bearer", "Bearer ", "Basic YTpi", "tp_x_y"):
        assert world.identity.authenticate(authorization=header, now=NOW) is None
    assert bearer("bearer  abc ") == "abc"
