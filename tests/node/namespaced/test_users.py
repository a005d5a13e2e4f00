"""Who a container runs as, and what that one may do."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import honoured, once, town
from trainplane.node.namespaced.identity import CAPABILITIES, USUAL, Users, capabilities, group, passwd
from trainplane.node.runner import Mount

STATUS = "sed -n 's/^\\(CapBnd\\|CapEff\\|NoNewPrivs\\):[[:space:]]*//p' /proc/self/status"


@pytest.mark.parametrize("uid", [0, 1000, 4321, 65535, 1000650000])
def test_a_pod_is_who_it_asks_to_be(tmp_path: Path, uid: int) -> None:
    script = "id -u; id -g; id -un; touch /tmp/x ~/x && stat -c %u:%g /tmp/x; echo $HOME"
    ended, text = asyncio.run(once(tmp_path, "sh", "-c", script, uid=uid, gid=77))
    name, home = ("trainplane", "/home/trainplane") if uid else ("root", "/root")
    assert ended.code == 0, text
    assert text.split() == [str(uid), "77", name, f"{uid}:77", home]


def test_a_pod_that_does_not_say_is_not_root(tmp_path: Path) -> None:
    _, text = asyncio.run(once(tmp_path, "id", "-u"))
    assert text.strip() == str(os.getuid() or 1000)


def test_groups_are_set_or_said_to_be_missing(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            volume = tmp_path / "volume"
            volume.mkdir(mode=0o770)
            box = here.box("p")
            if os.geteuid() == 0:
                os.chown(volume, 0, here.runner.owner(box, uid=None, gid=2000)[1])
                volume.chmod(0o2770)
            pod = await here.pod(
                "p", "sh", "-c", "id -G; echo hi > /v/x; stat -c %g /v/x", groups=(2000,), mounts=(Mount("/v", volume),)
            )
            ended = await pod.end()
            assert ended.code == 0, pod.text
            if honoured(here.runner, "FSGroup"):
                assert "2000" in pod.text.splitlines()[0].split()
            if os.geteuid() == 0:
                assert pod.text.splitlines()[1] == "2000", "and files take the volume's group"

    asyncio.run(story())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's root is the host's")
def test_policy_can_let_a_pod_be_root(tmp_path: Path) -> None:
    async def story() -> tuple[int, str]:
        async with town(tmp_path) as here:
            switch = "/proc/sys/vm/swappiness"
            script = f"id -u; {STATUS}; value=$(cat {switch}); echo $value > {switch}; cat /etc/shadow; sleep 600"
            pod = await here.pod("p", "sh", "-c", script, box={"host_users": True})
            await pod.says("root:")
            return os.stat(f"/proc/{pod.started.pid}").st_uid, pod.text

    uid, text = asyncio.run(story())
    assert uid == 0
    assert text.startswith("0\n00000000a80425fb\n00000000a80425fb\n0\n")
    assert "Read-only file system" in text, "the machine's switches are not a pod's"
    assert "root:*:" in text, "nor are the host's passwords"


def _mask(names: set[str]) -> str:
    return f"{sum(1 << number for number, name in enumerate(CAPABILITIES) if name in names):016x}"


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        pytest.param({}, set(USUAL), id="the usual"),
        pytest.param({"drop_capabilities": frozenset({"NET_RAW", "MKNOD"})}, USUAL - {"NET_RAW", "MKNOD"}, id="less"),
        pytest.param({"drop_capabilities": frozenset({"ALL"})}, set(), id="none"),
        pytest.param(
            {"add_capabilities": frozenset({"SYS_PTRACE", "CAP_IPC_LOCK"})},
            USUAL | {"SYS_PTRACE", "IPC_LOCK"},
            id="more",
        ),
        pytest.param(
            {"drop_capabilities": frozenset({"ALL"}), "add_capabilities": frozenset({"CHOWN"})},
            {"CHOWN"},
            id="only one",
        ),
    ],
)
def test_capabilities_are_those_that_are_left(tmp_path: Path, fields: dict[str, object], kept: set[str]) -> None:
    _, text = asyncio.run(once(tmp_path, "sh", "-c", STATUS, uid=0, **fields))
    possible = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="ascii"))
    effective, bounding, _ = text.split()
    expected = _mask({name for name in kept if CAPABILITIES.index(name) <= possible})
    assert bounding == expected
    assert effective == expected


def test_a_user_other_than_root_has_none(tmp_path: Path) -> None:
    _, text = asyncio.run(once(tmp_path, "sh", "-c", STATUS, uid=1000))
    assert text.split()[0] == "0" * 16


@pytest.mark.parametrize("wanted", [True, False])
def test_new_privileges_are_kept_out_where_the_pod_says_so(tmp_path: Path, wanted: bool) -> None:
    _, text = asyncio.run(once(tmp_path, "sh", "-c", STATUS, no_new_privileges=wanted))
    assert text.split()[2] == str(int(wanted))


@pytest.mark.parametrize(
    ("users", "own", "lines"),
    [
        pytest.param(Users(0, 1, keep=True), 1000, ((1000, 0, 1),), id="one user"),
        pytest.param(Users(5_000_000, 65536, keep=False), 1000, ((0, 5_000_000, 65536),), id="a range"),
        pytest.param(Users(0, 65536, keep=True), 0, ((0, 0, 1), (1, 1, 65535)), id="root is the user himself"),
        pytest.param(
            Users(0, 65536, keep=True), 1000, ((0, 1, 1000), (1000, 0, 1), (1001, 1001, 64535)), id="so is another"
        ),
        pytest.param(Users(10, 65536, keep=False), 70000, ((0, 10, 65535), (70000, 65545, 1)), id="beyond the range"),
    ],
)
def test_the_maps_of_users(users: Users, own: int, lines: tuple[tuple[int, int, int], ...]) -> None:
    assert users.map(own) == lines
    outside = [users.outside(inside + count - 1, own=own) for inside, _, count in lines]
    assert outside == [first + count - 1 for _, first, count in lines]
    assert len({number for _, first, count in lines for number in (first, first + count - 1)}) >= len(lines)


def test_the_files_of_users_name_no_person() -> None:
    lines = [
        "root:x:0:0:root:/root:/bin/bash",
        "me:x:1000:1000::/home/me:/bin/sh",
        "nobody:x:65534:65534::/:/bin/false",
    ]
    assert passwd(lines, uid=1000, gid=100).splitlines() == [
        "trainplane:x:1000:100:trainplane:/home/trainplane:/bin/sh",
        lines[0],
        lines[2],
    ]
    assert passwd(lines, uid=0, gid=0).startswith("root:x:0:0:root:/root:/bin/sh\n")
    assert group(["root:x:0:", "adm:x:4:me", "me:x:1000:"], gid=4, groups=(0, 9)).splitlines() == [
        "trainplane:x:4:",
        "trainplane-0:x:0:",
        "trainplane-9:x:9:",
    ]


def test_privileged_keeps_everything() -> None:
    assert capabilities(add=(), drop=("ALL",), privileged=True) == list(range(len(CAPABILITIES)))
