"""What a container of an engine may do: users, groups, capabilities; and what docker has for users of its own."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.engines import IMAGE, Engine, archive, box, give, give_host_users, root_folder
from tests.node.nodes import NAMESPACE, Nodes, phase, pod, ref, states
from trainplane.node.docker_roots import ROOT
from trainplane.node.images import ImageMapping
from trainplane.node.namespaced.identity import RANGE
from trainplane.node.namespaced.orders import FIRST

DOCKER = pytest.mark.parametrize("engine", ["docker"], indirect=True)
FREE = "pod-security.kubernetes.io/enforce", "privileged"
STATUS = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp|Groups):' /proc/self/status"


def told(text: str) -> dict[str, str]:
    """What /proc says of a process, by its words."""
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def inside(number: str) -> int:
    """What an unprivileged user of a namespace would be in it, if users were mapped."""
    assert int(number) >= FIRST
    return (int(number) - FIRST) % RANGE


def test_capabilities_groups_and_filters_are_as_the_pod_says(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await give_host_users(made)
        await give(made, *FREE)
        own = {"capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}, "allowPrivilegeEscalation": False}
        free = {"seccompProfile": {"type": "Unconfined"}, "capabilities": {"drop": ["NET_RAW"]}}
        both = [box(STATUS, securityContext=own), box(STATUS, name="d", securityContext=free)]
        await made.create(pod(containers=both, securityContext={"fsGroup": 77, "supplementalGroups": [88]}))
        assert phase(await made.ended()) == "Succeeded"
        strict, loose = told(await made.log(container="c")), told(await made.log(container="d"))
        assert int(strict["CapEff"], 16) == 1 << 13
        assert (strict["NoNewPrivs"], strict["Seccomp"]) == ("1", "2")
        assert {"77", "88"} <= set(strict["Groups"].split())
        assert not int(loose["CapEff"], 16) & 1 << 13
        assert int(loose["CapEff"], 16) & 1
        assert (loose["NoNewPrivs"], loose["Seccomp"]) == ("0", "0")
        assert not [note for reason, note in await made.events() if reason == "NotHonoured"]

    contained(play)


def test_a_namespace_without_a_way_out_has_no_proxy(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[box('echo "[$HTTP_PROXY]"')]))
        assert phase(await made.ended()) == "Succeeded"
        assert await made.log() == "[]\n"

    contained(play, egress=False)


def test_names_of_the_pod_and_of_others_are_looked_up_where_the_pod_says(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        aliases = [{"ip": "192.0.2.7", "hostnames": ["other"]}]
        spec: dict[str, Any] = {"hostname": "h", "subdomain": "s", "setHostnameAsFQDN": True, "hostAliases": aliases}
        await made.create(pod(containers=[box("hostname; cat /etc/hosts /etc/resolv.conf")], **spec))
        assert phase(await made.ended()) == "Succeeded"
        lines = (await made.log()).splitlines()
        assert lines[0] == f"h.s.{NAMESPACE}.svc.cluster.local"
        assert any(re.fullmatch(r"192\.0\.2\.7\s+other", line) for line in lines)
        assert "nameserver 10.244.0.1" in lines

    contained(play)


def test_a_limit_above_the_machine_is_no_error_and_settings_of_the_kernel_are_the_pods(
    contained: Callable[..., None],
) -> None:
    async def play(made: Nodes) -> None:
        sysctls = [{"name": "net.ipv4.ip_local_port_range", "value": "20000 21000"}]
        one = box(
            "cat /proc/sys/net/ipv4/ip_local_port_range",
            resources={"limits": {"cpu": "5000"}, "requests": {"cpu": "0.1"}},
        )
        await made.create(pod(containers=[one], securityContext={"sysctls": sysctls}))
        assert phase(await made.ended()) == "Succeeded"
        assert (await made.log()).split() == ["20000", "21000"]

    contained(play)


@DOCKER
def test_with_docker_a_container_is_an_unprivileged_user_unless_its_namespace_has_the_hosts(
    contained: Callable[..., None],
) -> None:
    own = "touch $HOME/$(id -u) /workspace/$(id -u) && echo own; touch /bin/x 2>/dev/null || echo not"
    script = f"id -u; id -g; echo $HOME; {own}; {STATUS}"

    async def play(made: Nodes) -> None:
        await give(made, *FREE)
        context = {"runAsUser": 12, "runAsGroup": 34, "capabilities": {"add": ["SYS_ADMIN"]}}
        both = [box(script), box(script, name="d", securityContext=context)]
        await made.create(pod(containers=both, securityContext={"fsGroup": 77}))
        assert phase(await made.ended()) == "Succeeded"
        for name, uid, gid in (("c", 0, 0), ("d", 12, 34)):
            first, second, home, mine, refused, *status = (await made.log(container=name)).splitlines()
            assert (inside(first), inside(second)) == (uid, gid)
            assert (home, mine, refused) == ("/home/trainplane", "own", "not")
            found = told("\n".join(status))
            assert (int(found["CapEff"], 16), found["NoNewPrivs"], found["Seccomp"]) == (0, "1", "2")
            assert 77 in map(inside, found["Groups"].split())
        notes = [note for reason, note in await made.events() if reason == "NotHonoured"]
        assert sorted(note.partition(":")[0] for note in notes) == ["Capabilities", "RunAsUser"]
        assert all("trainplane.dev/users: host" in note for note in notes)

    contained(play)


@DOCKER
@pytest.mark.parametrize(
    ("user", "fields", "said"),
    [
        ("", {"securityContext": {"privileged": True}}, "docker cannot make a privileged container in a namespace"),
        ("somebody", {}, 'what number the user "somebody" of the image has cannot be seen'),
        ("1234:56", {}, ""),
    ],
)
def test_with_docker_what_cannot_be_had_without_the_hosts_users_is_told(
    contained: Callable[..., None], engine: Engine, user: str, fields: dict[str, Any], said: str
) -> None:
    image = f"{IMAGE}-{user.replace(':', '-') or 'none'}"
    engine.ask("import", "--change", f"USER {user or 0}", "-", image, stdin=archive())

    async def play(made: Nodes) -> None:
        await give(made, *FREE)
        await made.create(pod(containers=[box("id -u; id -g", image=image, **fields)]))
        if not said:
            assert phase(await made.ended()) == "Succeeded"
            assert list(map(inside, (await made.log()).split())) == [1234, 56]
            return

        def waits(found: dict[str, Any]) -> bool:
            return bool(states(found).get("c", {}).get("waiting", {}).get("reason") == "CreateContainerError")

        found = await made.until("p", waits)
        assert said in states(found)["c"]["waiting"]["message"]

    try:
        contained(play)
    finally:
        engine.ask("rmi", "--force", image)


def test_a_root_folder_that_changes_is_run_as_it_is_then(
    contained: Callable[..., None], engine: Engine, tmp_path: Path
) -> None:
    root = root_folder(tmp_path / "root")

    async def play(made: Nodes) -> None:
        for word in ("one", "two"):
            (root / "word").write_text(f"{word}\n")
            await made.create(pod(word, containers=[box("cat /word", image="mapped")]))
            assert phase(await made.ended(word)) == "Succeeded"
            assert await made.log(word) == f"{word}\n"
            await made.api.delete(ref(word))
            await made.gone(word)

    try:
        contained(play, images=(ImageMapping("mapped", root=root),))
        if engine.name == "docker":
            copies = engine.ask("image", "ls", "--quiet", "--filter", f"label={ROOT}={root}").split()
            assert len(copies) == 1, "of what it was there is no copy any more"
    finally:
        if engine.name == "docker":
            engine.ask("image", "prune", "--all", "--force", "--filter", f"label={ROOT}={root}")
