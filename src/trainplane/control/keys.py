"""Keys: what a Decision asks to be generated, made here because entropy is never drawn where decisions are taken."""

from base64 import b64encode
from collections.abc import Callable, Mapping

from trainplane.api.meta import Raw

SSH_SECRET = "-mpi-ssh-auth"  # noqa: S105 - how the name of such a Secret ends
"""What stands behind the job's name in the name of the Secret with its keys."""


def generated(raw: Raw, what: tuple[str, ...]) -> Raw:
    """The object with everything made that is asked for."""
    for name in what:
        if name not in GENERATORS:
            raise ValueError(f"nobody can generate {name}; there is {', '.join(GENERATORS)}")
        raw = GENERATORS[name](raw)
    return raw


def ssh_keys(secret: Raw) -> Raw:
    """A Secret with a pair of keys to log in with, a pair for the hosts, and the hosts as they are known by either."""
    # Only here: few jobs need keys, and a cluster starts without what makes them.
    from cryptography.hazmat.primitives.asymmetric.ec import SECP521R1
    from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ecdsa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    job = str(secret["metadata"]["name"]).removesuffix(SSH_SECRET)
    login, host = generate_ecdsa(SECP521R1()), Ed25519PrivateKey.generate()
    lines = [key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n" for key in (login, host)]
    known = b"".join(f"{job}-*,[{job}-*]:* ".encode() + line for line in lines)
    data = {
        "ssh-privatekey": login.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()),
        "ssh-publickey": lines[0],
        "ssh-host-privatekey": host.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        "ssh-host-publickey": lines[1],
        "known_hosts": known,
    }
    return {**secret, "data": {name: b64encode(value).decode() for name, value in data.items()}}


GENERATORS: Mapping[str, Callable[[Raw], Raw]] = {"ssh-keys": ssh_keys}
"""What can be asked for."""
