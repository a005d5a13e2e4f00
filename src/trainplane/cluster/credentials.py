"""A cluster's certificates as its start needs them: their text, without a look inside where one was taken before."""

import fcntl
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from trainplane.cluster.private_files import private_folder, read_private, write_private

AUTHORITY_FILE = "ca.pem"
AUTHORITY_CERTIFICATE_FILE = "ca.crt"
SERVING_FILE = "serving.pem"
ADMIN_FILE = "admin.pem"
CHECKED_FILE = "checked.json"
"""Which certificates were found good, and how long that holds."""
_FILES = (AUTHORITY_FILE, AUTHORITY_CERTIFICATE_FILE, SERVING_FILE, ADMIN_FILE)
_KEY = b"-----BEGIN PRIVATE KEY-----"


class Credentials(msgspec.Struct, frozen=True):
    """What a cluster serves with, and what its administrator shows."""

    folder: Path
    authority: bytes
    """The authority's certificate."""
    certificate: bytes
    """The administrator's."""
    key: bytes

    def __repr__(self) -> str:
        """Without anything secret."""
        return f"Credentials({str(self.folder)!r})"

    def server_context(self) -> ssl.SSLContext:
        """TLS for serving."""
        return server_context(self.folder)


class _Checked(msgspec.Struct, frozen=True):
    digest: str
    start: float
    end: float
    names: frozenset[str]


def credentials(folder: Path, *, name: str, now: datetime, extra_names: Sequence[str] = ()) -> Credentials:
    """What is in the folder, made where it is missing, broken, too old, or for other names than these."""
    path = private_folder(folder) / CHECKED_FILE
    content = read_private(path)
    try:
        checked = msgspec.json.decode(content, type=_Checked) if content else None
    except msgspec.DecodeError:
        checked = None
    holds = checked and checked.start <= now.timestamp() < checked.end and checked.names.issuperset(extra_names)
    if not holds or checked is None or checked.digest != _digest(folder):
        # Only here: to load all that certificates need takes longer than the rest of a start that finds them good.
        from trainplane.cluster.certificates import Certificates

        with _alone(folder):
            made = Certificates(folder, name=name, now=now, extra_names=extra_names)
            if read_private(folder / ADMIN_FILE) == made.admin.pem:
                # In the form that we write it, which is taken apart below.
                start, end = made.lasting()
                checked = _Checked(_digest(folder), start.timestamp(), end.timestamp(), frozenset(extra_names))
                write_private(path, msgspec.json.encode(checked), durable=False)
        return Credentials(folder, made.authority.certificate_pem, made.admin.certificate_pem, made.admin.key_pem)
    certificate, mark, key = (read_private(folder / ADMIN_FILE) or b"").partition(_KEY)
    return Credentials(folder, read_private(folder / AUTHORITY_CERTIFICATE_FILE) or b"", certificate, mark + key)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While no other process makes certificates there: two that start at once must not mix theirs."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def server_context(folder: Path) -> ssl.SSLContext:
    """TLS for serving: clients may show a certificate of this folder's authority, and need not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / SERVING_FILE)
    context.load_verify_locations(folder / AUTHORITY_CERTIFICATE_FILE)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


def _digest(folder: Path) -> str:
    """One sum of all files; any that is changed or gone makes it another."""
    return sha256(b"".join(sha256(read_private(folder / name) or b"").digest() for name in _FILES)).hexdigest()
