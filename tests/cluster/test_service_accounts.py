"""Pods prove who they are: the account's token is mounted where it is wanted, and dies with its pod."""

import ssl
from pathlib import Path
from typing import Any

from tests.cluster.servers import Caller, serve

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    """A pod of one container."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def mounted(made: dict[str, Any]) -> list[str]:
    """What is mounted into the first container, by the kind of its volume."""
    volumes = {volume["name"]: volume for volume in made["spec"].get("volumes") or ()}
    mounts = made["spec"]["containers"][0].get("volumeMounts") or ()
    return [
        next(kind for kind in volumes[mount["name"]] if kind != "name")
        for mount in mounts
        if mount["mountPath"] == MOUNT
    ]


def test_a_pod_gets_the_token_of_its_account_unless_it_declines(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        code, made, _ = await call("POST", PODS, body=pod())
        assert (code, made["spec"]["serviceAccountName"], mounted(made)) == (201, "default", ["projected"])
        (volume,) = made["spec"]["volumes"]
        token, root, namespace = volume["projected"]["sources"]
        assert token == {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
        assert root["configMap"]["name"] == "kube-root-ca.crt"
        assert namespace["downwardAPI"]["items"][0]["path"] == "namespace"
        _, made, _ = await call("POST", PODS, body=pod("q", automountServiceAccountToken=False))
        assert mounted(made) == []
        shy = {"metadata": {"name": "shy"}, "automountServiceAccountToken": False, "imagePullSecrets": [{"name": "s"}]}
        await call("POST", ACCOUNTS, body=shy)
        _, made, _ = await call("POST", PODS, body=pod("r", serviceAccountName="shy"))
        assert (mounted(made), made["spec"]["imagePullSecrets"]) == ([], [{"name": "s"}])
        _, made, _ = await call(
            "POST", PODS, body=pod("s", serviceAccountName="shy", automountServiceAccountToken=True)
        )
        assert mounted(made) == ["projected"]
        own = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": MOUNT}]}
        body = pod("t", containers=[own], volumes=[{"name": "v", "emptyDir": {}}])
        _, made, _ = await call("POST", PODS, body=body)
        assert mounted(made) == ["emptyDir"]
        code, status, _ = await call("POST", PODS, body=pod("u", serviceAccountName="none"))
        words = 'error looking up service account default/none: serviceaccount "none" not found'
        assert (code, status["message"]) == (403, f'pods "u" is forbidden: {words}')

    serve(tmp_path, story)


def test_a_token_lives_as_long_as_its_pod_and_its_account(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        async def ask(token: str) -> int:
            stranger = ssl.create_default_context(cadata=(tmp_path / "cluster" / "pki" / "ca.crt").read_text())
            headers = {"Authorization": f"Bearer {token}"}
            path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            code, said, _ = await call("POST", path, body={}, ssl=stranger, headers=headers)
            if code == 201:
                info = said["status"]["userInfo"]
                assert info["username"] == "system:serviceaccount:default:worker"
            return code

        await call("POST", ACCOUNTS, body={"metadata": {"name": "worker"}})
        await call("POST", PODS, body=pod(serviceAccountName="worker"))
        bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
        path = f"{ACCOUNTS}/worker/token"
        code, made, _ = await call("POST", path, body={"spec": {"boundObjectRef": bound}})
        assert code == 201
        _, free, _ = await call("POST", path, body={"spec": {}})
        tokens = [answer["status"]["token"] for answer in (made, free)]
        assert [await ask(token) for token in tokens] == [201, 201]
        await call("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        assert [await ask(token) for token in tokens] == [401, 201]
        await call("DELETE", f"{ACCOUNTS}/worker")
        assert [await ask(token) for token in tokens] == [401, 401]
        code, status, _ = await call("POST", f"{ACCOUNTS}/default/token", body={"spec": {"boundObjectRef": bound}})
        assert (code, status["message"]) == (404, 'pods "p" not found')

    serve(tmp_path, story)
