"""Certificates: who trusts them, when they are renewed, and that nobody else can read them."""

import ssl
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trainplane.cluster.certificates import Certificates, Pair, client_certificate, names_of, signed_by
from trainplane.cluster.credentials import ADMIN_FILE, AUTHORITY_FILE, SERVING_FILE, Credentials, credentials
from trainplane.cluster.private_files import NotPrivate, private_folder, read_private, write_private

NOW = datetime.fromtimestamp(1_900_000_000, UTC)
TODAY = datetime.fromtimestamp(time.time(), UTC)
"""TLS handshakes look at the real clock."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "deep" / "pki"


def made(folder: Path, now: datetime = NOW, *names: str) -> Certificates:
    """The certificates of a folder, at a time."""
    return Certificates(folder, name="test", now=now, extra_names=names)


def test_files_are_their_owners_alone(folder: Path) -> None:
    made(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys((AUTHORITY_FILE, "ca.crt", SERVING_FILE, ADMIN_FILE), 0o600)


def test_a_second_start_keeps_everything(folder: Path) -> None:
    first, second = made(folder), made(folder, NOW + timedelta(days=30))
    for before, after in (
        (first.authority, second.authority),
        (first.serving, second.serving),
        (first.admin, second.admin),
    ):
        assert before.pem == after.pem


def test_certificates_are_renewed_before_they_end_and_the_authority_stays(folder: Path) -> None:
    first = made(folder)
    later = made(folder, NOW + timedelta(days=300))
    assert later.serving.pem != first.serving.pem
    assert later.authority.pem == first.authority.pem
    assert signed_by(later.serving, first.authority)
    assert not later.renew(NOW + timedelta(days=301))
    assert later.renew(NOW + timedelta(days=600))


def test_an_old_authority_is_replaced_with_all_it_signed(folder: Path) -> None:
    first = made(folder)
    later = made(folder, NOW + timedelta(days=3600))
    assert not signed_by(later.admin, first.authority)
    assert signed_by(later.admin, later.authority)
    assert (folder / "ca.crt").read_bytes() == later.authority.certificate_pem


def test_another_name_makes_another_serving_certificate(folder: Path) -> None:
    first = made(folder)
    assert names_of(first.serving) >= {"127.0.0.1", "::1", "localhost", "kubernetes.default.svc"}
    second = made(folder, NOW, "trainer.example.test")
    assert "trainer.example.test" in names_of(second.serving)
    assert second.serving.pem != first.serving.pem


@pytest.mark.parametrize("file", [SERVING_FILE, ADMIN_FILE, AUTHORITY_FILE])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"])
def test_a_broken_file_is_made_anew(folder: Path, file: str, content: bytes) -> None:
    made(folder)
    (folder / file).write_bytes(content)
    again = made(folder)
    assert signed_by(again.serving, again.authority)
    assert signed_by(again.admin, again.authority)


def test_a_key_that_is_not_the_certificates_is_refused(folder: Path) -> None:
    certificates = made(folder)
    with pytest.raises(ValueError, match="not the certificate's"):
        Pair.read(certificates.serving.certificate_pem + certificates.admin.key_pem)


def test_keys_are_not_printed(folder: Path) -> None:
    certificates = made(folder)
    assert "PRIVATE" not in repr(certificates.admin)
    assert "system:masters" in repr(certificates.admin)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Both ends of a TLS connection in memory; the server's end."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(4):
        for end in (ours, theirs):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    # A client certificate that is refused in TLS 1.3 is told on the first read.
    ours.write(b"hello")
    assert theirs.read() == b"hello"
    return theirs


def trusting(certificates: Certificates, pair: Pair | None, folder: Path) -> ssl.SSLContext:
    """A client that trusts the authority and may show a certificate."""
    context = ssl.create_default_context(cafile=str(certificates.authority_certificate))
    if pair is not None:
        file = folder / "client.pem"
        file.write_bytes(pair.pem)
        context.load_cert_chain(file)
    return context


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"])
def test_clients_who_trust_the_authority_trust_the_server(folder: Path, tmp_path: Path, name: str) -> None:
    certificates = made(folder, TODAY)
    server = handshake(certificates.server_context(), trusting(certificates, None, tmp_path), name)
    assert server.getpeercert() is None


def test_a_client_shows_who_it_is(folder: Path, tmp_path: Path) -> None:
    certificates = made(folder, TODAY)
    pair = client_certificate(certificates.authority, user="ann", groups=("team", "b"), now=TODAY)
    server = handshake(certificates.server_context(), trusting(certificates, pair, tmp_path), "localhost")
    peer = server.getpeercert()
    assert peer is not None
    assert [part[0] for part in peer["subject"]] == [
        ("organizationName", "team"),
        ("organizationName", "b"),
        ("commonName", "ann"),
    ]


def test_strangers_and_servers_are_not_clients(folder: Path, tmp_path: Path) -> None:
    certificates, others = made(folder, TODAY), made(tmp_path / "other", TODAY)
    for pair in (others.admin, certificates.serving):
        with pytest.raises(ssl.SSLError):
            handshake(certificates.server_context(), trusting(certificates, pair, tmp_path), "localhost")


def test_a_private_file_is_closed_and_replaced_in_one_step(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "p")
    write_private(folder / "f", b"one")
    (folder / "f").chmod(0o644)
    assert read_private(folder / "f") == b"one"
    assert stat.S_IMODE((folder / "f").stat().st_mode) == 0o600
    write_private(folder / "f", b"two")
    assert [path.name for path in folder.iterdir()] == ["f"]
    assert read_private(folder / "nothing") is None


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "p")
    (tmp_path / "elsewhere").write_bytes(b"x")
    (folder / "f").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        read_private(folder / "f")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(NotPrivate, match="not a folder"):
        private_folder(tmp_path / "link")


def shown(folder: Path, now: datetime = NOW, *names: str) -> Credentials:
    """What a start finds in a folder, at a time."""
    return credentials(folder, name="test", now=now, extra_names=names)


def test_a_start_finds_what_the_one_before_has_made(folder: Path) -> None:
    first = shown(folder)
    about = made(folder)
    assert first == Credentials(
        folder, about.authority.certificate_pem, about.admin.certificate_pem, about.admin.key_pem
    )
    assert shown(folder) == first
    assert "PRIVATE" not in repr(first)


def test_starts_at_the_same_time_make_one_set(folder: Path) -> None:
    with ThreadPoolExecutor(4) as many:
        found = list(many.map(lambda _: shown(folder), range(4)))
    assert found == [found[0]] * 4
    assert signed_by(Pair.read(found[0].certificate + found[0].key), made(folder).authority)


def test_a_start_renews_what_is_too_old_for_other_names_or_changed(folder: Path) -> None:
    first = shown(folder)
    assert shown(folder, NOW + timedelta(days=300)).certificate != first.certificate
    serving = (folder / SERVING_FILE).read_bytes()
    assert shown(folder, NOW + timedelta(days=300), "trainer.example.test").folder == folder
    assert (folder / SERVING_FILE).read_bytes() != serving
    for file in (ADMIN_FILE, SERVING_FILE, AUTHORITY_FILE, "ca.crt", "checked.json"):
        shown(folder)
        (folder / file).write_bytes(b"broken")
        again = shown(folder)
        assert again.authority == (folder / "ca.crt").read_bytes()
        assert signed_by(Pair.read(again.certificate + again.key), made(folder).authority)
        assert b"broken" not in (folder / file).read_bytes()
    (folder / SERVING_FILE).unlink()
    assert shown(folder).server_context().cert_store_stats()["x509_ca"] == 1
