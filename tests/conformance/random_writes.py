"""Random writes to objects with every kind of list and map, and the little HTTP that sends them to a real server."""

import base64
import http.client
import json
import random
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from trainplane.api.meta import Raw

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


class Server:
    """A real API server, over one connection."""

    def __init__(self, kubeconfig: Path, scratch: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        self._scratch = scratch
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cafile=self._file(cluster, "certificate-authority"))
        if certificate := self._file(user, "client-certificate"):
            context.load_cert_chain(certificate, self._file(user, "client-key"))
        self._connection = http.client.HTTPSConnection(cluster["server"].partition("//")[2], context=context)
        self._token = user.get("token")

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """The code and the body of an answer."""
        headers = {"Accept": "application/json", "Content-Type": kind}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _file(self, part: dict[str, str], name: str) -> str | None:
        if name in part:
            return part[name]
        if f"{name}-data" not in part:
            return None
        path = self._scratch / name
        path.write_bytes(base64.b64decode(part[f"{name}-data"]))
        return str(path)


class Writer:
    """Makes objects up; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.twice = False
        """Whether env may name a variable twice, which an apply may not."""

    def some(self, likely: float, **parts: Callable[[], Any]) -> Raw:
        """Some of the parts."""
        return {name: make() for name, make in parts.items() if self.dice.random() < likely}

    def config_map(self, name: str) -> Raw:
        """A ConfigMap."""
        parts = self.some(0.6, data=self.strings, binaryData=lambda: self.dice.choice([{"z": "YQ=="}, {}]))
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(name), **parts}

    def pod_template(self, name: str, *, whole: bool) -> Raw:
        """A PodTemplate; one that is not whole may leave out what it must have."""
        template = self.some(0.5, metadata=lambda: self.some(0.6, labels=self.strings, annotations=self.strings))
        if whole or self.dice.random() < 0.9:
            template["spec"] = self.pod(whole=whole)
        return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": self.metadata(name), "template": template}

    def metadata(self, name: str) -> Raw:
        """A name, and perhaps labels, annotations and finalizers."""
        parts = self.some(0.4, labels=self.strings, annotations=self.strings)
        return {"name": name, **parts, **self.some(0.2, finalizers=lambda: self.sample("x/a", "x/b", "x/c"))}

    def strings(self) -> dict[str, str]:
        """A map of strings."""
        return {name: self.dice.choice("12") for name in self.sample("a", "b", "c")}

    def sample(self, *items: Any, least: int = 0) -> list[Any]:
        """Some of the items, in any order."""
        return self.dice.sample(items, self.dice.randint(least, len(items)))

    def pod(self, *, whole: bool) -> Raw:
        """The spec of a pod."""
        containers = [self.container(name, whole=whole) for name in self.sample("c", "d", "e", least=int(whole))]
        spec: Raw = {"containers": containers} if containers else {}
        spec |= self.some(
            0.25,
            nodeSelector=self.strings,
            tolerations=lambda: self.sample({"key": "a", "operator": "Exists"}),
            terminationGracePeriodSeconds=lambda: self.dice.randint(1, 2),
            hostAliases=lambda: self.sample({"ip": "1.1.1.1", "hostnames": ["a"]}),
            affinity=lambda: self.some(0.5, nodeAffinity=dict),
        )
        mounts = any(container.get("volumeMounts") for container in containers)
        return {**spec, "volumes": [{"name": "v", "emptyDir": {}}]} if mounts else spec

    def container(self, name: str, *, whole: bool) -> Raw:
        """A container."""
        image = self.some(1 if whole else 0.4, image=lambda: self.dice.choice(["i:1", "i:2"]))
        parts = self.some(
            0.4,
            env=self.env,
            ports=self.ports,
            args=lambda: self.sample("a", "b"),
            workingDir=lambda: self.dice.choice(["/a", "/b"]),
            resources=lambda: self.some(0.7, limits=lambda: self.dice.choice([{"cpu": "1"}, {"cpu": "2"}, {}])),
            volumeMounts=lambda: [{"name": "v", "mountPath": path} for path in self.sample("/m", "/n")],
            securityContext=lambda: self.some(0.5, runAsUser=lambda: self.dice.randint(1, 2), capabilities=dict),
        )
        return {"name": name, **image, **parts}

    def env(self) -> list[Raw]:
        """Environment variables."""
        names = self.sample("A", "B", "C", "D")
        if self.twice and names:
            names.append(names[0])
        return [{"name": name, **self.some(0.8, value=lambda: self.dice.choice("12"))} for name in names]

    def ports(self) -> list[Raw]:
        """Ports, with and without a protocol."""
        udp, tcp = {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 81, "protocol": "TCP"}
        return self.sample({"containerPort": 80}, udp, tcp, {"containerPort": 82})
