"""Keys that ssh itself can read."""

import shutil
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from tests.patience import PATIENCE
from trainplane.control.keys import generated
from trainplane.trainjob.frameworks.mpi import SECRET_KEYS

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "demo-mpi-ssh-auth", "namespace": "team"}}


def made() -> dict[str, bytes]:
    secret: dict[str, Any] = generated(SECRET, ("ssh-keys",))
    return {name: b64decode(text) for name, text in secret["data"].items()}


def test_the_secret_holds_what_the_plan_mounts() -> None:
    assert tuple(made()) == SECRET_KEYS


def test_each_private_key_is_that_of_its_public_key() -> None:
    data = made()
    login = load_pem_private_key(data["ssh-privatekey"], None)
    assert isinstance(login, EllipticCurvePrivateKey)
    assert login.curve.name == "secp521r1"
    assert data["ssh-privatekey"].startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert data["ssh-host-privatekey"].startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    for private, public in (
        (login, data["ssh-publickey"]),
        (load_ssh_private_key(data["ssh-host-privatekey"], None), data["ssh-host-publickey"]),
    ):
        assert private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n" == public


def test_hosts_are_known_by_both_keys_under_the_job_and_no_other() -> None:
    data = made()
    assert data["known_hosts"].decode().splitlines() == [
        f"demo-*,[demo-*]:* {data[name].decode().strip()}" for name in ("ssh-publickey", "ssh-host-publickey")
    ]


def test_no_two_secrets_share_a_key() -> None:
    one, other = made(), made()
    assert all(one[name] != other[name] for name in SECRET_KEYS)


def test_what_nobody_can_make_is_named() -> None:
    with pytest.raises(ValueError, match="nobody can generate luck; there is ssh-keys"):
        generated(SECRET, ("luck",))


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
@pytest.mark.parametrize(
    ("private", "public"),
    [("ssh-privatekey", "ssh-publickey"), ("ssh-host-privatekey", "ssh-host-publickey")],
)
def test_ssh_reads_them(tmp_path: Path, private: str, public: str) -> None:
    data = made()
    path, known = tmp_path / "key", tmp_path / "known_hosts"
    path.touch(mode=0o600)
    path.write_bytes(data[private])
    known.write_bytes(data["known_hosts"])
    told = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, check=True, timeout=PATIENCE).stdout
    assert told.split()[:2] == data[public].split()[:2]
    for host, lines in (("demo-node-0-0.demo", 2), ("[demo-node-0-1.demo]:2222", 2), ("other-node-0-0", 0)):
        found = subprocess.run(
            ["ssh-keygen", "-F", host, "-f", known], capture_output=True, check=False, timeout=PATIENCE
        )
        assert found.stdout.count(b" found: line ") == lines, host
