"""The cluster's own authority and the certificates it signs: for serving, and for people who administer it."""

import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trainplane.cluster.access import MASTERS
from trainplane.cluster.credentials import (
    ADMIN_FILE,
    AUTHORITY_CERTIFICATE_FILE,
    AUTHORITY_FILE,
    SERVING_FILE,
    server_context,
)
from trainplane.cluster.private_files import private_folder, read_private, write_private

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SERVICE = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
ADMIN_NAME = "trainplane-admin"

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=365)
_SKEW = timedelta(minutes=5)
"""Certificates hold a little before they were made, for clients whose clock is late."""


class Pair:
    """A certificate and its key; the key is never part of what is printed."""

    __slots__ = ("certificate", "key")

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        """The key must be the certificate's."""
        self.certificate = certificate
        self.key = key

    @classmethod
    def read(cls, pem: bytes) -> "Pair":
        """From a file with both; raises ValueError where it has not, or they do not belong together."""
        certificate = x509.load_pem_x509_certificate(pem)
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ValueError("the key is not the certificate's")
        return cls(certificate, key)

    @property
    def certificate_pem(self) -> bytes:
        """The certificate, which anybody may see."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key, unencrypted: for files that only their owner can read."""
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, form, plain)

    @property
    def pem(self) -> bytes:
        """Both, in one file."""
        return self.certificate_pem + self.key_pem

    def __repr__(self) -> str:
        """What it is for, and until when."""
        return f"Pair({self.certificate.subject.rfc4514_string()}, until {self.certificate.not_valid_after_utc})"


def new_authority(*, name: str, now: datetime) -> Pair:
    """A new authority, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        _builder(subject, subject, key, now=now, life=_AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Pair(builder.sign(key, hashes.SHA256()), key)


def serving_certificate(authority: Pair, *, names: Sequence[str], now: datetime) -> Pair:
    """A certificate to serve under these names and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    extensions = [x509.SubjectAlternativeName([_general_name(name) for name in names])]
    return _leaf(authority, subject, key, now=now, use=ExtendedKeyUsageOID.SERVER_AUTH, extensions=extensions)


def client_certificate(authority: Pair, *, user: str, groups: Sequence[str] = (), now: datetime) -> Pair:
    """A certificate that says who a client is: the user as its common name, the groups as organizations."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    return _leaf(authority, subject, key, now=now, use=ExtendedKeyUsageOID.CLIENT_AUTH)


def fresh(pair: Pair, *, now: datetime) -> bool:
    """Whether a certificate holds now and has a third of its life left."""
    start, end = lasting(pair)
    return start <= now < end


def lasting(pair: Pair) -> tuple[datetime, datetime]:
    """From when a certificate holds, and when only a third of its life is left."""
    start, end = pair.certificate.not_valid_before_utc, pair.certificate.not_valid_after_utc
    return start, end - (end - start) / 3


def signed_by(pair: Pair, authority: Pair) -> bool:
    """Whether the authority signed it."""
    try:
        pair.certificate.verify_directly_issued_by(authority.certificate)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def names_of(pair: Pair) -> set[str]:
    """The names and addresses that a serving certificate holds for."""
    try:
        said = pair.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in said}


class Certificates:
    """The authority, serving and admin certificates of one cluster, kept in a folder and renewed in time."""

    def __init__(self, folder: Path, *, name: str, now: datetime, extra_names: Sequence[str] = ()) -> None:
        """Read what is there; make what is missing, broken, too old, or for other names."""
        self.folder = private_folder(folder)
        self._names = (*LOOPBACK, *SERVICE, *extra_names)
        authority = self._read(AUTHORITY_FILE)
        if authority is None or not fresh(authority, now=now):
            authority = self._write(AUTHORITY_FILE, new_authority(name=f"trainplane-{name}", now=now))
        self.authority = authority
        if read_private(self.authority_certificate) != authority.certificate_pem:
            write_private(self.authority_certificate, authority.certificate_pem)
        self.serving = self._kept(SERVING_FILE, now=now)
        self.admin = self._kept(ADMIN_FILE, now=now)

    @property
    def authority_certificate(self) -> Path:
        """The file of the authority's certificate, without its key."""
        return self.folder / AUTHORITY_CERTIFICATE_FILE

    def renew(self, now: datetime) -> bool:
        """Renew what has less than a third of its life left; whether the serving certificate is another now."""
        before = self.serving
        self.serving = self._kept(SERVING_FILE, now=now)
        self.admin = self._kept(ADMIN_FILE, now=now)
        return self.serving.certificate != before.certificate

    def lasting(self) -> tuple[datetime, datetime]:
        """From when, and until when, all of them are fresh."""
        starts, ends = zip(*map(lasting, (self.authority, self.serving, self.admin)), strict=True)
        return max(starts), min(ends)

    def server_context(self) -> ssl.SSLContext:
        """TLS for serving: clients may show a certificate of this authority, and need not."""
        return server_context(self.folder)

    def _kept(self, file: str, *, now: datetime) -> Pair:
        """The certificate in a file, if it still serves; else a new one."""
        pair = self._read(file)
        serves = pair is not None and fresh(pair, now=now) and signed_by(pair, self.authority)
        if pair is not None and serves and (file != SERVING_FILE or names_of(pair) >= set(self._names)):
            return pair
        if file == SERVING_FILE:
            return self._write(file, serving_certificate(self.authority, names=self._names, now=now))
        return self._write(file, client_certificate(self.authority, user=ADMIN_NAME, groups=(MASTERS,), now=now))

    def _read(self, file: str) -> Pair | None:
        pem = read_private(self.folder / file)
        try:
            return None if pem is None else Pair.read(pem)
        except ValueError:
            # Nothing can be done with half a file but to make it anew, as when it is missing.
            return None

    def _write(self, file: str, pair: Pair) -> Pair:
        write_private(self.folder / file, pair.pem)
        return pair


def _leaf(
    authority: Pair,
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    now: datetime,
    use: x509.ObjectIdentifier,
    extensions: Sequence[x509.ExtensionType] = (),
) -> Pair:
    issuer = authority.certificate
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(subject, issuer.subject, key, now=now, life=_LEAF_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return Pair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + life)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
