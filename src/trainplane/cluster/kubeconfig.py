"""Kubeconfig files: where a cluster is and who we are there. They are read as kubectl does, and written for our own."""

import base64
import binascii
import json
import os
import ssl
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.problem import did_you_mean
from trainplane.cluster.private_files import read_private, write_private

MARK = "trainplane.dev"
"""The extension by which our own entries are known again."""
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


class KubeconfigError(ValueError):
    """A kubeconfig that cannot be used: which file, which field, what is wrong, and what to do."""

    def __init__(self, file: str, field: str, what: str, todo: str) -> None:
        """Put into one line."""
        super().__init__(f"{file}: {f'{field}: ' if field else ''}{what}; {todo}")


class Target(msgspec.Struct, frozen=True):
    """A cluster and the way in, as one context names them."""

    context: str
    server: str
    namespace: str = "default"
    authority: bytes = b""
    insecure: bool = False
    tls_server_name: str = ""
    proxy: str = ""
    token: str = ""
    token_file: str = ""
    certificate: bytes = b""
    key: bytes = b""

    def __repr__(self) -> str:
        """Without anything secret."""
        return f"Target(context={self.context!r}, server={self.server!r}, namespace={self.namespace!r})"

    def bearer(self) -> str:
        """The token to send now; one in a file is read each time, because it may be renewed."""
        return Path(self.token_file).read_text(encoding="utf-8").strip() if self.token_file else self.token

    def client_context(self) -> ssl.SSLContext:
        """TLS to the cluster: whom to trust, and what to show."""
        context = ssl.create_default_context(cadata=self.authority.decode() or None)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate:
            with _as_file(self.certificate + b"\n" + self.key) as name:
                context.load_cert_chain(name)
        return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """The name of a file of this content, for the ssl module, which reads keys from files alone.

    It is in memory where the system has such files, ours only in any case, and gone at once.
    """
    if sys.platform == "linux":
        with open(os.memfd_create("key"), "w+b", buffering=0) as file:
            file.write(content)
            yield f"/proc/self/fd/{file.fileno()}"
        return
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(content)
        file.flush()
        yield file.name


class _Entry(msgspec.Struct, frozen=True):
    """A named entry, the file it is from and its place there."""

    value: Raw
    file: Path
    field: str

    def wrong(self, field: str, what: str, todo: str) -> KubeconfigError:
        return KubeconfigError(str(self.file), f"{self.field}.{field}" if field else self.field, what, todo)

    def text(self, field: str) -> str:
        """The text of a field, or ""."""
        value = self.value.get(field)
        if value is not None and not isinstance(value, str):
            raise self.wrong(field, f"is {type(value).__name__}, not text", "put it in quotes")
        return value or ""

    def content(self, field: str) -> bytes:
        """What `FIELD-data` holds in base64, or the file that `FIELD` names beside the kubeconfig."""
        if data := self.text(f"{field}-data"):
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error:
                raise self.wrong(f"{field}-data", "is not base64", f"write the file's path into {field}") from None
        if not (name := self.text(field)):
            return b""
        try:
            return self.path(field).read_bytes()
        except OSError as fault:
            raise self.wrong(field, f"cannot read {name}: {fault.strerror}", "give a file that is there") from None

    def path(self, field: str) -> Path:
        """The file that a field names."""
        return self.file.parent / Path(self.text(field)).expanduser()


class _Merged(msgspec.Struct):
    """All files as one: what is said first holds."""

    files: tuple[Path, ...]
    current: str = ""
    entries: dict[tuple[str, str], _Entry] = msgspec.field(default_factory=dict)

    def find(self, section: str, name: str, needed_by: str) -> _Entry:
        found = self.entries.get((section, name))
        if found is not None:
            return found
        known = sorted(each for kind, each in self.entries if kind == section)
        near = did_you_mean(name, known)
        todo = f"did you mean {near}?" if near else f"use one of: {', '.join(known) or 'there is none'}"
        where = os.pathsep.join(map(str, self.files))
        raise KubeconfigError(where, section, f"has no {name!r}, which {needed_by} names", todo)


def files(environ: Mapping[str, str], *, home: Path) -> tuple[Path, ...]:
    """The files that kubectl would read: those of KUBECONFIG, or ~/.kube/config."""
    named = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return tuple(Path(part).expanduser() for part in named) if named else (home / ".kube" / "config",)


def load(paths: Sequence[Path], *, context: str = "") -> Target:
    """The cluster of a context, or of the current one; raises KubeconfigError.

    Of several files those that are missing are passed over, and what is said first holds.
    """
    there = tuple(path for path in paths if path.exists())
    if not there:
        names = os.pathsep.join(map(str, paths))
        raise KubeconfigError(names, "", "there is no such file", "give --kubeconfig, or start a cluster with up")
    merged = _Merged(there)
    for path in there:
        _merge(merged, path)
    name = context or merged.current
    if not name:
        contexts = ", ".join(sorted(each for kind, each in merged.entries if kind == "contexts"))
        raise KubeconfigError(str(there[0]), "current-context", "is not set", f"give --context: {contexts or 'none'}")
    chosen = merged.find("contexts", name, "--context" if context else "current-context")
    cluster = merged.find("clusters", chosen.text("cluster"), f"the context {name}")
    user = merged.find("users", chosen.text("user"), f"the context {name}") if chosen.text("user") else None
    return _target(name, chosen, cluster, user)


def in_cluster(environ: Mapping[str, str], *, mount: Path) -> Target | None:
    """The cluster that this process runs in as a pod, from the folder of a pod's token; None elsewhere."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token, authority = mount / "token", mount / "ca.crt"
    if not host or not port or not token.exists():
        return None
    place = mount / "namespace"
    return Target(
        context="in-cluster",
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=place.read_text(encoding="utf-8").strip() if place.exists() else "default",
        authority=authority.read_bytes() if authority.exists() else b"",
        token_file=str(token),
    )


def kubeconfig(
    name: str,
    *,
    server: str,
    authority: bytes,
    certificate: bytes = b"",
    key: bytes = b"",
    token: str = "",
    namespace: str = "default",
) -> Raw:
    """A kubeconfig with one context, for one cluster of ours, that needs no other file."""
    user: Raw = {"token": token} if token else {}
    if certificate:
        user |= {"client-certificate-data": _base64(certificate), "client-key-data": _base64(key)}
    mark = [{"name": MARK, "extension": {"cluster": name}}]
    cluster = {"server": server, "certificate-authority-data": _base64(authority), "extensions": mark}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        "current-context": name,
    }


def write(path: Path, config: Raw) -> None:
    """Put a kubeconfig in place, readable by its owner alone, where it is not there already.

    As JSON, which is YAML too: every command reads it, and a library for YAML takes as long to load as its work.
    """
    text = json.dumps(config, indent=2).encode() + b"\n"
    if read_private(path) != text:
        # Every start writes it where it is lost.
        _put(path, text, durable=False)


def _put(path: Path, text: bytes, *, durable: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, text, durable=durable)


def merge_into(path: Path, config: Raw, *, use: bool = False) -> None:
    """Add our context to a kubeconfig that is the user's own, and make it the current one if asked to.

    Raises KubeconfigError where the name is taken by something else. Comments in the file are lost, as with kubectl.
    """
    path = path.resolve()
    whole: Raw = _read(path) if path.exists() else {"apiVersion": "v1", "kind": "Config"}
    name = config["current-context"]
    ours = _is_ours(whole, name)
    for section in _SECTIONS:
        there = whole.get(section) or ()
        others = [each for each in there if each.get("name") != name]
        if len(others) != len(there) and not ours:
            raise KubeconfigError(
                str(path), section, f"{name!r} is there already, and not Trainplane's", "give this one another --name"
            )
        whole[section] = [*others, *config[section]]
    if use or not whole.get("current-context"):
        whole["current-context"] = name
    _write_whole(path, whole)


def remove_from(path: Path, name: str) -> bool:
    """Take a context of ours out of a kubeconfig again; whether it was there."""
    path = path.resolve()
    if not path.exists():
        return False
    whole = _read(path)
    if not _is_ours(whole, name):
        return False
    for section in _SECTIONS:
        whole[section] = [each for each in whole.get(section) or () if each.get("name") != name]
    if whole.get("current-context") == name:
        whole["current-context"] = ""
    _write_whole(path, whole)
    return True


def _write_whole(path: Path, whole: Raw) -> None:
    import yaml

    _put(path, yaml.safe_dump(whole, sort_keys=False).encode())


def _is_ours(whole: Raw, name: str) -> bool:
    for each in whole.get("clusters") or ():
        if each.get("name") == name:
            extensions = (each.get("cluster") or {}).get("extensions") or ()
            return any(isinstance(one, dict) and one.get("name") == MARK for one in extensions)
    return False


def _read(path: Path) -> Raw:
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise KubeconfigError(str(path), "", f"cannot be read: {fault.strerror}", "check its permissions") from None
    try:
        value = json.loads(content)
    except ValueError:
        value = _yaml(path, content)
    if value is None:
        return {}
    if not isinstance(value, dict) or value.get("kind", "Config") != "Config":
        raise KubeconfigError(str(path), "kind", "is not Config", "give a kubeconfig file")
    return value


def _yaml(path: Path, content: bytes) -> Any:
    import yaml

    try:
        return yaml.load(content, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        mark = getattr(fault, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark else ""
        raise KubeconfigError(str(path), line, "is not YAML", "mend it, or move the file away") from None


def _merge(merged: _Merged, path: Path) -> None:
    whole = _read(path)
    merged.current = merged.current or str(whole.get("current-context") or "")
    for section, part in _SECTIONS.items():
        entries = whole.get(section) or []
        if not isinstance(entries, list):
            raise KubeconfigError(str(path), section, "is not a list", "write it as - name: …")
        for index, entry in enumerate(entries):
            field = f"{section}[{index}]"
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise KubeconfigError(str(path), field, "has no name", "give it one")
            value = entry.get(part) or {}
            if not isinstance(value, dict):
                raise KubeconfigError(str(path), f"{field}.{part}", "is not an object", "write its fields below it")
            merged.entries.setdefault((section, entry["name"]), _Entry(value, path, f"{field}.{part}"))


def _target(name: str, chosen: _Entry, cluster: _Entry, user: _Entry | None) -> Target:
    server = cluster.text("server").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise cluster.wrong("server", f"is {server or 'not set'!r}", "write an address such as https://127.0.0.1:6443")
    who: dict[str, Any] = {}
    if user is not None:
        _refuse(user)
        token_file = user.text("tokenFile")
        who = {
            "token": user.text("token"),
            "token_file": str(user.path("tokenFile")) if token_file else "",
            "certificate": user.content("client-certificate"),
            "key": user.content("client-key"),
        }
        if bool(who["certificate"]) != bool(who["key"]):
            lacking = "client-key" if who["certificate"] else "client-certificate"
            raise user.wrong(
                lacking, "is not set, and its other half is", "give both client-certificate and client-key"
            )
    return Target(
        context=name,
        server=server,
        namespace=chosen.text("namespace") or "default",
        authority=cluster.content("certificate-authority"),
        insecure=bool(cluster.value.get("insecure-skip-tls-verify")),
        tls_server_name=cluster.text("tls-server-name"),
        proxy=cluster.text("proxy-url"),
        **who,
    )


def _refuse(user: _Entry) -> None:
    """Refuse ways to log in that would run other programs, or that Kubernetes itself has given up."""
    if (plugin := user.value.get("exec")) is not None:
        command = plugin.get("command", "") if isinstance(plugin, dict) else ""
        raise user.wrong(
            "exec",
            f"the plugin {command!r} is not run",
            "make a token with it, or with kubectl create token, and write that into token or tokenFile",
        )
    if user.value.get("auth-provider") is not None:
        raise user.wrong("auth-provider", "is no longer a way to log in", "use token or a client certificate")
    if user.value.get("username") is not None:
        raise user.wrong("username", "passwords are no longer a way to log in", "use token or a client certificate")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
