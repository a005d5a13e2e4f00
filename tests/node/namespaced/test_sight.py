"""What a container sees and may write: the host's system read-only, its own volumes, and nothing else."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import ENVIRONMENT, mark, once, town
from trainplane.node.runner import CREATE_ERROR, Mount, NotStarted


def test_the_systems_folders_are_read_only_and_the_rest_is_private(tmp_path: Path) -> None:
    name = f"x-{mark()}"
    script = f"""
    for place in /etc /usr /opt /sys; do touch $place/{name} 2>/dev/null && echo "wrote $place"; done
    for place in / /tmp /var/tmp /run /var/log /dev/shm /home/trainplane; do
        touch $place/{name} || echo "no $place"
    done
    touch ~/{name} || echo "no ~"
    ls /home /mnt /srv /media /root 2>/dev/null
    """
    ended, text = asyncio.run(once(tmp_path, "sh", "-c", script))
    assert ended.code in (0, 2)
    assert text.split() == ["/home:", "trainplane", "/media:", "/mnt:", "/srv:"]
    assert not Path("/tmp", name).exists()


def test_the_environment_is_seen_at_its_own_path_wherever_it_lies(tmp_path: Path) -> None:
    ended, text = asyncio.run(once(tmp_path, sys.executable, "-c", "import sys; print(sys.prefix)", mounts=ENVIRONMENT))
    assert (ended.code, text.strip()) == (0, sys.prefix)


@pytest.mark.parametrize(
    "target",
    [
        "/data",
        "/etc/mpi",
        "/usr/local/made/up",
        "/opt/made/up",
        "/var/run/secrets/kubernetes.io",
        "/a/b/c/d",
        "/home/me",
    ],
)
def test_a_volume_is_mounted_wherever_the_pod_says(tmp_path: Path, target: str) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o777)
    (volume / "file").write_text("content\n", encoding="utf-8")
    script = f"cat {target}/file; echo new > {target}/written"
    ended, text = asyncio.run(once(tmp_path, "sh", "-c", script, mounts=(Mount(target, volume),)))
    assert (ended.code, text) == (0, "content\n")
    assert (volume / "written").read_text(encoding="utf-8") == "new\n"
    assert not Path("/usr/local/made").exists()


def test_read_only_files_and_parts_of_volumes(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    (volume / "part").mkdir(parents=True)
    (volume / "part" / "file").write_text("content\n", encoding="utf-8")
    for each in (volume, volume / "part"):
        each.chmod(0o777)
    mounts = (
        Mount("/whole", volume, read_only=True),
        Mount("/part", volume, sub_path="part"),
        Mount("/etc/one.conf", volume, sub_path="part/file", read_only=True),
    )
    script = "cat /part/file /etc/one.conf; touch /whole/x; touch /part/x; echo y > /etc/one.conf; ls /whole/part"
    _, text = asyncio.run(once(tmp_path, "sh", "-c", script, mounts=mounts))
    assert text.startswith("content\ncontent\n")
    assert text.count("Read-only file system") == 2
    assert text.endswith("file\nx\n")


@pytest.mark.parametrize("link", ["/", "..", "/etc", "deeper/../../.."])
def test_a_part_that_leads_out_of_its_volume_is_refused(tmp_path: Path, link: str) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "out").symlink_to(link)
    with pytest.raises(NotStarted, match="out") as refused:
        asyncio.run(once(tmp_path, "ls", "/data", mounts=(Mount("/data", volume, sub_path="out"),)))
    assert refused.value.reason == CREATE_ERROR


def test_a_link_in_a_volume_cannot_lead_a_mount_out_of_the_root(tmp_path: Path) -> None:
    volume, other, victim = (tmp_path / name for name in ("volume", "other", "victim"))
    for each in (volume, other, victim):
        each.mkdir()
    (volume / "trap").symlink_to(victim)
    mounts = (Mount("/data", volume), Mount("/data/trap/made", other))
    with pytest.raises(NotStarted, match="/data/trap/made"):
        asyncio.run(once(tmp_path, "ls", "/data", mounts=mounts))
    assert list(victim.iterdir()) == []


def test_a_link_in_a_volume_is_followed_as_the_container_sees_it(tmp_path: Path) -> None:
    volume, other = tmp_path / "volume", tmp_path / "other"
    for each in (volume, other):
        each.mkdir()
    (other / "file").touch()
    (volume / "link").symlink_to("/srv")
    mounts = (Mount("/data", volume), Mount("/data/link", other))
    ended, text = asyncio.run(once(tmp_path, "ls", "/srv", mounts=mounts))
    assert (ended.code, text) == (0, "file\n")
    assert "file" not in os.listdir("/srv")


def test_memory_is_shared_by_the_containers_of_a_pod(tmp_path: Path) -> None:
    mounts = (Mount("/cache", name="cache", size=1 << 20), Mount("/dev/shm", name="shm"))

    async def story() -> tuple[str, str]:
        async with town(tmp_path) as here:
            box = here.box("p")
            await here.make(box)
            first, _ = await here.start(box, ("sh", "-c", "echo hi > /cache/x; echo shm > /dev/shm/y"), mounts=mounts)
            await here.runner.wait(first)
            script = "cat /cache/x /dev/shm/y; df -k /cache | tail -1; head -c 2000000 /dev/zero > /cache/full"
            second, output = await here.start(box, ("sh", "-c", script), mounts=mounts, container="second")
            await here.runner.wait(second)
            assert list((box.folder / "memory" / "cache").iterdir()) == [], "the host sees none of it"
            return output.read_text(encoding="utf-8"), str(box.folder)

    text, _ = asyncio.run(story())
    assert text.startswith("hi\nshm\ntmpfs")
    assert " 1024 " in text
    assert "No space left" in text


def test_a_read_only_root_leaves_volumes_alone(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o777)
    script = """
    for place in / /run /tmp /var; do touch $place/x 2>/dev/null && echo $place; done
    touch /data/x /dev/shm/x && echo ok
    """
    _, text = asyncio.run(once(tmp_path, "sh", "-c", script, read_only_root=True, mounts=(Mount("/data", volume),)))
    assert text == "ok\n"


def test_a_folder_can_be_the_whole_root(tmp_path: Path) -> None:
    root = tmp_path / "image"
    for name in ("etc", "app", "usr"):
        (root / name).mkdir(parents=True)
    (root / "app" / "hello").write_text(
        "#!/usr/bin/sh\necho from the image; ls /; cat /etc/hostname\n", encoding="utf-8"
    )
    (root / "app" / "hello").chmod(0o755)
    for name in ("bin", "lib", "lib64"):
        if Path(f"/{name}").is_symlink():
            (root / name).symlink_to(f"usr/{name}")
    mounts = (Mount("/usr", Path("/usr"), read_only=True),)
    ended, text = asyncio.run(once(tmp_path, "/app/hello", root=root, mounts=mounts))
    assert ended.code == 0, text
    assert text.startswith("from the image\napp\n")
    assert text.endswith("one\n")
    assert sorted(each.name for each in root.iterdir() if not each.is_symlink()) == ["app", "etc", "usr"]


HOSTILE = """
import os, signal, sys
def attempt(what, action):
    try:
        action()
    except OSError:
        return
    print("GOT", what)
for path in sys.argv[2:]:
    attempt(path, lambda: open(path).read())
    attempt(path, lambda: os.listdir(path))
    attempt(path, lambda: os.stat(path))
foreign = int(sys.argv[1])
attempt("a signal to a foreign process", lambda: os.kill(foreign, signal.SIGTERM))
for pid in range(2, 4000):
    if pid != os.getpid():
        attempt(f"a signal to process {pid}", lambda: os.kill(pid, 0))
for entry in os.listdir("/proc"):
    if entry.isdigit() and int(entry) not in (1, os.getpid()):
        print("SEEN process", entry)
attempt("process 1's memory", lambda: open("/proc/1/mem", "rb").read(1))
attempt("process 1's root", lambda: os.listdir("/proc/1/root"))
for number in range(20):
    attempt("a file of process 1", lambda: os.open(f"/proc/1/fd/{number}", os.O_RDONLY))
attempt("process 1's environment", lambda: open("/proc/1/environ").read())
attempt("a device", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)))
attempt("a switch of the machine", lambda: open("/proc/sysrq-trigger", "w").write("h"))
attempt("the core pattern", lambda: open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/x"))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
    print("GOT a mount")
if libc.sethostname(b"evil", 4) == 0:
    print("GOT a host name")
import socket
attempt("a raw socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
print("done")
"""


@pytest.mark.parametrize("uid", [None, 0, 1234])
def test_a_hostile_pod_gets_at_nothing(tmp_path: Path, uid: int | None) -> None:
    state = tmp_path / "state"
    secrets = [state / "ca.key", state / "store.db", state / "tokens" / "other-namespace"]
    for each in secrets:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("secret", encoding="utf-8")
    other = tmp_path / "volume-of-another"
    other.mkdir()
    (other / "data").write_text("secret", encoding="utf-8")

    async def story() -> str:
        async with town(tmp_path) as here:
            mounts = (*ENVIRONMENT, Mount("/data", other))
            neighbour = await here.pod(
                "neighbour", "sleep", "600", box={"namespace": "other"}, mounts=mounts, env={"TOKEN": "secret"}
            )
            places = [*secrets, other, other / "data", tmp_path / "runner", Path.home(), neighbour.box.folder]
            words = [str(neighbour.started.pid), *(str(place) for place in places if str(place) != "/")]
            pod = await here.pod("p", sys.executable, "-c", HOSTILE, *words, mounts=ENVIRONMENT, uid=uid)
            await pod.end()
            os.kill(neighbour.started.pid, 0)
            return pod.text

    text = asyncio.run(story())
    visible = {f"GOT {folder}" for folder in _above(ENVIRONMENT)}
    assert set(text.splitlines()) - visible == {"done"}, text


def _above(mounts: tuple[Mount, ...]) -> set[str]:
    """A mount's parents are there, with nothing else in them."""
    return {str(parent) for mount in mounts for parent in Path(mount.target).parents}


def test_pods_of_a_namespace_are_nobody_on_the_host(tmp_path: Path) -> None:
    async def story() -> tuple[int, int, int]:
        async with town(tmp_path) as here:
            pods = [
                await here.pod("p", "sleep", "600"),
                await here.pod("q", "sleep", "600", uid=0),
                await here.pod("r", "sleep", "600", box={"namespace": "other"}),
            ]
            first, second, third = (os.stat(f"/proc/{pod.started.pid}").st_uid for pod in pods)
            return first, second, third

    first, second, third = asyncio.run(story())
    if os.geteuid() == 0:
        assert min(first, second, third) > 65536
        assert first - 1000 == second, "one range for a namespace"
        assert abs(third - first) >= 65536, "and another for another"
    else:
        assert {first, second, third} == {os.getuid()}, "an ordinary user's pods are his own"


def test_two_files_at_once_are_seen_by_whom_they_belong_to(tmp_path: Path) -> None:
    """A secret with a narrow mode is readable by the pod's user once it belongs to `owner`."""

    async def story() -> str:
        async with town(tmp_path) as here:
            volume = tmp_path / "secret"
            volume.mkdir()
            box = here.box("p")
            key = volume / "key"
            key.write_text("content", encoding="utf-8")
            key.chmod(0o400)
            if os.geteuid() == 0:
                os.chown(key, *here.runner.owner(box, uid=4321, gid=None))
            pod = await here.pod(
                "p", "sh", "-c", "cat /s/key; stat -c ' %u' /s/key; id -u", uid=4321, mounts=(Mount("/s", volume),)
            )
            await pod.end()
            return pod.text

    assert asyncio.run(story()) == "content 4321\n4321\n"


def test_the_machines_switches_can_be_seen_and_not_turned(tmp_path: Path) -> None:
    script = """
    find /proc/timer_list /proc/keys /proc/interrupts -type f; ls /sys/firmware
    test -r /proc/sys/kernel/hostname && echo seen
    find /proc/sys /sys/kernel -type f -writable
    """
    _, text = asyncio.run(once(tmp_path, "sh", "-c", script, uid=0, gid=0))
    assert text == "seen\n"


def test_a_pod_with_users_of_its_own_may_see_all_of_proc(tmp_path: Path) -> None:
    script = "test -f /proc/interrupts && echo seen"
    _, text = asyncio.run(once(tmp_path, "sh", "-c", script, unmasked=True))
    assert text == "seen\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_that_a_root_of_the_host_makes_is_none(tmp_path: Path) -> None:
    script = "for folder in /dev /tmp /run /dev/shm; do mknod $folder/mine c 1 3 && echo x > $folder/mine; done"
    _, text = asyncio.run(once(tmp_path, "sh", "-c", script, box={"host_users": True}))
    assert text.count("Permission denied") == 4


def test_nothing_of_a_pod_is_run_before_it_is_the_pod(tmp_path: Path) -> None:
    """A pod that lays its own modules over those of the interpreter that starts it is not run by that interpreter."""
    library, volume = Path(os.__file__).parent, tmp_path / "library"
    trap = "import os\nos.mkdir('/trap', 0o777)\n"
    codecs = [f"encodings/{file.name}" for file in (library / "encodings").glob("*.py")]
    for name in (*(f"{name}.py" for name in sys.stdlib_module_names), *codecs):
        (volume / name).parent.mkdir(parents=True, exist_ok=True)
        (volume / name).write_text(trap, encoding="utf-8")
    mounts = (Mount(str(library), volume),)

    async def story() -> str:
        async with town(tmp_path) as here:
            pod = await here.pod("p", "sleep", "1000", mounts=mounts)
            _, text = await pod.run("sh", "-c", "test -e /trap && echo trapped; echo here")
            with pytest.raises(NotStarted, match="cannot be run"):
                await pod.run("missing")
            _, after = await pod.run("sh", "-c", "test -e /trap && echo trapped; echo here")
            return text + after

    assert asyncio.run(story()) == "here\nhere\n"
