"""What is behind volumes, and where containers see them."""

import base64
import ctypes
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trainplane.api.meta import Raw
from trainplane.node.content import File, Missing, files, references
from trainplane.node.environment import ConfigError
from trainplane.node.volumes import Owner, Source, failed, host_path, make, make_sub_path, mounts, write
from trainplane.reconcile.view import Ref, View

ME = Owner(os.getuid(), os.getgid())


def of(kind: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ns", "uid": "u1"}, **fields}


WORLD = View.of(
    of("ConfigMap", "cfg", data={"a": "1", "b": "2"}, binaryData={"bin": base64.b64encode(b"\xff").decode()}),
    of("Secret", "sec", data={"key": base64.b64encode(b"s").decode()}),
    of("PersistentVolumeClaim", "claim", spec={}),
)


def pod(*volumes: Raw) -> Raw:
    container = {"name": "c", "resources": {"limits": {"memory": "64Mi"}}}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "labels": {"b": 'x"y', "a": "z"}}
    return {"metadata": metadata, "spec": {"containers": [container], "volumes": list(volumes)}}


def content(volume: Raw) -> dict[str, tuple[bytes, int]] | None:
    found = files(
        pod(volume), volume, WORLD, allocatable={}, token=lambda asked: f"token for {asked.get('audience')}".encode()
    )
    return None if found is None else {path: (file.data, file.mode) for path, file in found.items()}


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        pytest.param(
            {"configMap": {"name": "cfg"}},
            {"a": (b"1", 0o644), "b": (b"2", 0o644), "bin": (b"\xff", 0o644)},
            id="every key is a file",
        ),
        pytest.param(
            {"configMap": {"name": "cfg", "defaultMode": 0o400, "items": [{"key": "a", "path": "x/y", "mode": 0o600}]}},
            {"x/y": (b"1", 0o600)},
            id="or those that are listed",
        ),
        pytest.param({"secret": {"secretName": "sec", "defaultMode": 0o400}}, {"key": (b"s", 0o400)}, id="a secret"),
        pytest.param({"secret": {"secretName": "no", "optional": True}}, {}, id="one that need not be there"),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"labels": (b'a="z"\nb="x\\"y"', 0o644)},
            id="the pod's labels",
        ),
        pytest.param(
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "m",
                            "resourceFieldRef": {"containerName": "c", "resource": "limits.memory", "divisor": "1Mi"},
                        }
                    ]
                }
            },
            {"m": (b"64", 0o644)},
            id="what a container may use",
        ),
        pytest.param(
            {
                "projected": {
                    "defaultMode": 0o440,
                    "sources": [
                        {"serviceAccountToken": {"path": "token", "audience": "x"}},
                        {"configMap": {"name": "cfg", "items": [{"key": "a", "path": "ca.crt"}]}},
                        {"secret": {"name": "sec"}},
                    ],
                }
            },
            {"token": (b"token for x", 0o440), "ca.crt": (b"1", 0o440), "key": (b"s", 0o440)},
            id="all in one",
        ),
        pytest.param({"emptyDir": {}}, None, id="others have no files of their own"),
    ],
)
def test_content(volume: Raw, found: Any) -> None:
    assert content({"name": "v", **volume}) == found


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        pytest.param({"configMap": {"name": "no"}}, 'configmap "no" not found', id="ConfigMap"),
        pytest.param({"secret": {"secretName": "no"}}, 'secret "no" not found', id="Secret"),
        pytest.param(
            {"configMap": {"name": "cfg", "items": [{"key": "no", "path": "x"}]}},
            "configmap references non-existent config key: no",
            id="key of a ConfigMap",
        ),
        pytest.param(
            {"secret": {"secretName": "sec", "items": [{"key": "no", "path": "x"}]}},
            "references non-existent secret key: no",
            id="key of a Secret",
        ),
    ],
)
def test_what_is_missing_is_said_as_kubernetes_says_it(volume: Raw, message: str) -> None:
    with pytest.raises(Missing) as caught:
        content({"name": "v", **volume})
    assert failed("v", str(caught.value)) == f'MountVolume.SetUp failed for volume "v" : {message}'


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "..data", "..x/y"])
@pytest.mark.parametrize(
    "source",
    [
        {"serviceAccountToken": {"path": "PATH"}},
        {"configMap": {"name": "cfg", "items": [{"key": "a", "path": "PATH"}]}},
        {"secret": {"name": "sec", "items": [{"key": "key", "path": "PATH"}]}},
        {"downwardAPI": {"items": [{"path": "PATH", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ],
    ids=lambda source: next(iter(source)),
)
def test_no_file_of_a_volume_leads_out_of_it(source: Raw, path: str) -> None:
    told = msgspec.json.decode(msgspec.json.encode(source).replace(b"PATH", path.encode()))
    with pytest.raises(Missing, match="leads out of the volume"):
        content({"name": "v", "projected": {"sources": [told]}})


def test_references() -> None:
    volumes = [
        {"name": "a", "projected": {"sources": [{"secret": {"name": "s"}}]}},
        {"name": "b", "configMap": {"name": "c"}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "e"}},
        {"name": "f", "ephemeral": {}},
    ]
    assert references(pod(*volumes)) == {
        Ref("", "Secret", "ns", "s"),
        Ref("", "ConfigMap", "ns", "c"),
        Ref("", "PersistentVolumeClaim", "ns", "e"),
    }


def test_files_change_all_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    assert write(folder, {"a": File(b"1"), "d/b": File(b"2", 0o600)}, owner=ME)
    assert (folder / "a").read_bytes() == b"1"
    assert stat.S_IMODE((folder / "d" / "b").stat().st_mode) == 0o600
    assert not write(folder, {"a": File(b"1"), "d/b": File(b"2", 0o600)}, owner=ME)
    old = (folder / "..data").resolve()
    assert write(folder, {"c": File(b"3")}, owner=ME)
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("..")) == ["c"]
    assert not old.exists()


@pytest.mark.parametrize(
    ("kind", "there", "wrong"),
    [
        pytest.param("Directory", "file", "is not a directory", id="no directory"),
        pytest.param("Directory", "none", "is not a directory", id="nothing"),
        pytest.param("File", "folder", "is not a file", id="no file"),
        pytest.param("Socket", "file", "is not a socket file", id="no socket"),
        pytest.param("CharDevice", "file", "is not a character device", id="no device"),
        pytest.param("DirectoryOrCreate", "file", "is not a directory", id="something else is there"),
        pytest.param("DirectoryOrCreate", "none", "", id="a directory is made"),
        pytest.param("FileOrCreate", "none", "", id="a file is made"),
        pytest.param("", "file", "", id="nobody asks"),
    ],
)
def test_host_path(tmp_path: Path, kind: str, there: str, wrong: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    source = {"path": str(tmp_path / there), "type": kind}
    if wrong:
        with pytest.raises(Missing) as caught:
            host_path(source)
        assert str(caught.value) == f"hostPath type check failed: {tmp_path / there} {wrong}"
    else:
        assert host_path(source).exists()


def made(volume: Raw, folder: Path) -> Source:
    volume = {"name": "v", **volume}
    return make(pod(volume), volume, folder / "volumes", files=None, view=WORLD, claims=folder / "claims", owner=ME)


def test_what_is_behind_other_volumes(tmp_path: Path) -> None:
    empty = made({"emptyDir": {}}, tmp_path)
    assert empty.path is not None
    assert stat.S_IMODE(empty.path.stat().st_mode) == 0o777
    assert made({"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}, tmp_path) == Source(None, size=1024**2)
    claim = made({"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}}, tmp_path)
    assert claim == Source(tmp_path / "claims" / "ns" / "claim-u1", read_only=True)
    with pytest.raises(Missing, match='persistentvolumeclaim "no" not found'):
        made({"persistentVolumeClaim": {"claimName": "no"}}, tmp_path)
    with pytest.raises(Missing, match="volumes of kind nfs cannot be mounted here"):
        made({"nfs": {"server": "s", "path": "/"}}, tmp_path)


def test_mounts_are_made_from_the_outside_in(tmp_path: Path) -> None:
    sources = {"a": Source(tmp_path), "b": Source(None, size=5), "c": Source(tmp_path, read_only=True)}
    container = {
        "volumeMounts": [
            {"name": "a", "mountPath": "/x/y", "subPathExpr": "$(POD)/z"},
            {"name": "b", "mountPath": "/x"},
            {"name": "c", "mountPath": "/c", "readOnly": False},
        ]
    }
    found = mounts(container, sources, {"POD": "p"})
    assert [(each.target, each.sub_path, each.read_only, each.size) for each in found] == [
        ("/x", "", False, 5),
        ("/c", "", True, None),
        ("/x/y", "p/z", False, None),
    ]
    assert (tmp_path / "p" / "z").is_dir()


@pytest.mark.parametrize("path", ["../out", "/etc", "link/x"])
def test_a_sub_path_stays_in_its_volume(tmp_path: Path, path: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="subPath"):
        mounts({"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": path}]}, {"v": Source(tmp_path / "v")}, {})


@contextmanager
def changing(folder: Path, victim: Path) -> Iterator[None]:
    """A folder that is a link to another one every other moment, as a pod that has the volume can make it."""
    over, aside = threading.Event(), folder.with_name("aside")

    def change() -> None:
        while not over.is_set():
            ctypes.CDLL(None).renameat2(-100, bytes(folder), -100, bytes(aside), 2)

    folder.mkdir()
    aside.symlink_to(victim)
    (folder / "secret").touch()
    pod = threading.Thread(target=change)
    pod.start()
    try:
        yield
    finally:
        over.set()
        pod.join()


def test_no_part_of_a_volume_is_made_outside_while_its_folders_change(tmp_path: Path) -> None:
    volume, victim = tmp_path / "volume", tmp_path / "victim"
    for each in (volume, victim):
        each.mkdir()
    with changing(volume / "part", victim):
        for number in range(1000):
            with suppress(ConfigError, OSError):
                make_sub_path(volume, f"part/{number}")
    assert [path.name for path in victim.iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_nothing_outside_is_given_away_while_the_folders_of_a_volume_change(tmp_path: Path) -> None:
    volume, victim = tmp_path / "volume", tmp_path / "victim"
    for each in (volume, victim):
        each.mkdir()
    (victim / "secret").write_text("mine", encoding="utf-8")
    (victim / "secret").chmod(0o600)
    with changing(volume / "part", victim):
        for _ in range(500):
            with suppress(OSError):
                Owner(54321, 54321, 54322).give(volume)
    found = (victim / "secret").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 0, 0o600)
    assert victim.stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_the_group_of_a_volume_may_write_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch(mode=0o644)
    (tmp_path / "link").symlink_to("/nowhere")
    Owner(54321, 54321, 54322).give(tmp_path)
    for path, mode in ((tmp_path / "folder", 0o2775), (tmp_path / "folder" / "file", 0o664)):
        assert (path.stat().st_uid, path.stat().st_gid) == (54321, 54322)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert (tmp_path / "link").lstat().st_uid == 54321


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_private_key_is_root_s_and_its_group_reads_it_for_ssh_refuses_one_of_its_own_user_that_others_read(
    tmp_path: Path,
) -> None:
    owner = Owner(54321, 54321, 54322, root=54000)
    write(tmp_path, {"id_rsa": File(b"key", 0o600)}, owner=owner)
    found = (tmp_path / "id_rsa").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (54000, 54322, 0o640)


def test_an_empty_folder_of_huge_pages_is_refused_by_name(tmp_path: Path) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "HugePages"}}
    with pytest.raises(Missing, match="medium HugePages cannot be made here; use Memory"):
        make(pod(volume), volume, tmp_path, files=None, view=WORLD, claims=tmp_path, owner=ME)
