"""Kubeconfig files: read as kubectl reads them, written without touching what is not ours."""

import base64
import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainplane.cluster.certificates import Certificates
from trainplane.cluster.kubeconfig import (
    KubeconfigError,
    Target,
    files,
    in_cluster,
    kubeconfig,
    load,
    merge_into,
    remove_from,
    write,
)

PLAIN = """
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: "https://one.example.test:6443/", certificate-authority: pki/ca.crt}}
users:
- {name: u1, user: {token: abc}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: ml}}
- {name: bare, context: {cluster: c1}}
"""


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A kubeconfig with its authority beside it."""
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_bytes(b"CA")
    path = tmp_path / "one"
    path.write_text(PLAIN, encoding="utf-8")
    return path


def edited(path: Path, section: str, **fields: Any) -> Path:
    """The first entry of a section with these fields set, or removed where None."""
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    value = whole[section][0][section[:-1]]
    value.update(fields)
    whole[section][0][section[:-1]] = {key: each for key, each in value.items() if each is not None}
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return path


def test_the_current_context_says_where_and_who(one: Path) -> None:
    assert load([one]) == Target(
        context="one", server="https://one.example.test:6443", namespace="ml", authority=b"CA", token="abc"
    )
    assert load([one], context="bare").namespace == "default"
    assert "abc" not in repr(load([one]))


def test_kubeconfig_names_several_files_and_home_is_the_default(tmp_path: Path) -> None:
    assert files({"KUBECONFIG": "/a::/b"}, home=tmp_path) == (Path("/a"), Path("/b"))
    assert files({}, home=tmp_path) == (tmp_path / ".kube" / "config",)
    assert files({"KUBECONFIG": ""}, home=tmp_path) == (tmp_path / ".kube" / "config",)


def test_of_several_files_the_first_word_holds_and_missing_ones_are_passed_over(one: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    two.write_text(
        PLAIN.replace("current-context: one", "current-context: two")
        .replace("abc", "other")
        .replace("name: one", "name: two"),
        encoding="utf-8",
    )
    assert load([tmp_path / "nothing", one, two]).context == "one"
    assert load([two, one]).context == "two"
    assert load([one, two], context="two").token == "abc"


def test_a_token_file_is_read_each_time(one: Path, tmp_path: Path) -> None:
    (tmp_path / "tok").write_text("first\n", encoding="utf-8")
    target = load([edited(one, "users", token=None, tokenFile="tok")])
    assert target.bearer() == "first"
    (tmp_path / "tok").write_text("second", encoding="utf-8")
    assert target.bearer() == "second"


@pytest.mark.parametrize(
    ("section", "fields", "words"),
    [
        ("users", {"exec": {"command": "aws-login"}}, ["users[0].user.exec", "'aws-login' is not run", "tokenFile"]),
        ("users", {"auth-provider": {"name": "gcp"}}, ["users[0].user.auth-provider", "no longer"]),
        ("users", {"username": "a", "password": "b"}, ["users[0].user.username", "passwords"]),
        ("users", {"token": 5}, ["users[0].user.token", "put it in quotes"]),
        ("users", {"client-certificate-data": "!!"}, ["client-certificate-data", "not base64"]),
        ("users", {"client-certificate": "no.crt"}, ["cannot read no.crt: No such file"]),
        ("users", {"client-certificate-data": "QQ=="}, ["users[0].user.client-key", "give both"]),
        ("clusters", {"server": "one.example.test"}, ["clusters[0].cluster.server", "https://"]),
        ("clusters", {"server": None}, ["clusters[0].cluster.server", "not set"]),
        ("contexts", {"cluster": "c2"}, ["clusters: has no 'c2', which the context one names", "use one of: c1"]),
        ("contexts", {"user": "somebody"}, ["users: has no 'somebody'", "use one of: u1"]),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place_and_a_way_out(
    one: Path, section: str, fields: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(KubeconfigError) as refused:
        load([edited(one, section, **fields)])
    assert str(one) in str(refused.value)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "is not YAML"),
        ("[]", "kind: is not Config"),
        ("kind: Pod", "kind: is not Config"),
        ("", "current-context: is not set"),
        ("clusters: {}", "current-context: is not set"),
        ("clusters: 7", "clusters: is not a list"),
        ("clusters: [{}]", "clusters[0]: has no name"),
        ("contexts: [{name: a, context: 4}]", "contexts[0].context: is not an object"),
    ],
)
def test_files_that_are_no_kubeconfig(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KubeconfigError) as refused:
        load([path])
    assert words in str(refused.value)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="there is no such file; give --kubeconfig"):
        load([tmp_path / "a", tmp_path / "b"])


def test_a_context_that_is_not_there(one: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"contexts: has no 'bar', which --context names; did you mean bare\?"):
        load([one], context="bar")


OURS = kubeconfig("trainplane", server="https://127.0.0.1:6443", authority=b"A", certificate=b"C", key=b"K")


def test_what_we_write_is_ours_alone_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "state" / "kubeconfig"
    write(path, OURS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    target = load([path])
    assert (target.server, target.authority, target.certificate, target.key) == (
        "https://127.0.0.1:6443",
        b"A",
        b"C",
        b"K",
    )


def test_merging_keeps_everything_that_is_not_ours(one: Path) -> None:
    merge_into(one, OURS)
    assert load([one]).context == "one", "the current context is the user's to change"
    assert load([one], context="trainplane").server == "https://127.0.0.1:6443"
    merge_into(one, kubeconfig("trainplane", server="https://127.0.0.1:7443", authority=b"A"), use=True)
    assert load([one]).server == "https://127.0.0.1:7443"
    assert load([one], context="one").token == "abc"
    assert remove_from(one, "trainplane")
    whole = yaml.safe_load(one.read_text(encoding="utf-8"))
    before = yaml.safe_load(PLAIN) | {"current-context": ""}
    assert whole == before
    assert not remove_from(one, "c1")


def test_merging_makes_a_missing_file(tmp_path: Path) -> None:
    merge_into(tmp_path / ".kube" / "config", OURS)
    assert load([tmp_path / ".kube" / "config"]).context == "trainplane"


@pytest.mark.parametrize("name", ["c1", "u1", "one"])
def test_a_name_that_is_taken_is_not_taken_over(one: Path, name: str) -> None:
    before = one.read_bytes()
    with pytest.raises(KubeconfigError, match="another --name"):
        merge_into(one, kubeconfig(name, server="https://127.0.0.1:6443", authority=b"A"))
    assert one.read_bytes() == before


def test_merging_follows_a_link_to_the_file_it_means(one: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(one)
    merge_into(link, OURS)
    assert link.is_symlink()
    assert load([one], context="trainplane").context == "trainplane"


def test_in_a_pod(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(environ, mount=tmp_path) is None
    (tmp_path / "token").write_text("t\n", encoding="utf-8")
    (tmp_path / "namespace").write_text("ml", encoding="utf-8")
    target = in_cluster(environ, mount=tmp_path)
    assert target is not None
    assert (target.server, target.namespace, target.bearer()) == ("https://[fd00::1]:443", "ml", "t")
    assert in_cluster({}, mount=tmp_path) is None


def test_a_context_for_tls_trusts_the_authority_and_shows_the_certificate(tmp_path: Path) -> None:
    made = Certificates(tmp_path / "pki", name="t", now=datetime(2030, 1, 1, tzinfo=UTC))
    config = kubeconfig(
        "t",
        server="https://127.0.0.1:1",
        authority=made.authority.certificate_pem,
        certificate=made.admin.certificate_pem,
        key=made.admin.key_pem,
    )
    write(tmp_path / "k", config)
    context = load([tmp_path / "k"]).client_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "trainplane-t"),),)]
    loose = edited(tmp_path / "k", "clusters", **{"insecure-skip-tls-verify": True})
    assert load([loose]).client_context().verify_mode is ssl.CERT_NONE
    assert base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).startswith(b"-----BEGIN")
