"""GPUs go to one pod at a time, near each other where that can be, and come back."""

import pytest

from trainplane.node.devices import Device, Devices, NoDevice, files, share, variables

GPUS = tuple(Device(f"GPU-{i}", f"/dev/nvidia{i}", group=str(i // 2)) for i in range(4))


def ids(devices: tuple[Device, ...]) -> list[str]:
    return [each.id for each in devices]


def test_each_goes_to_one_pod_and_comes_back() -> None:
    held = Devices(GPUS)
    assert ids(held.take("a", "c", 3)) == ["GPU-0", "GPU-1", "GPU-2"]
    assert ids(held.take("a", "c", 3)) == ["GPU-0", "GPU-1", "GPU-2"]
    with pytest.raises(NoDevice, match=r"2 of nvidia.com/gpu asked for, 1 of 4 free"):
        held.take("b", "c", 2)
    assert ids(held.take("b", "c", 1)) == ["GPU-3"]
    held.give_back("a")
    assert ids(held.take("c", "c", 2)) == ["GPU-0", "GPU-1"]


def test_neighbours_are_kept_together() -> None:
    held = Devices(GPUS)
    assert ids(held.take("a", "c", 1)) == ["GPU-0"]
    assert ids(held.take("b", "c", 2)) == ["GPU-2", "GPU-3"]
    assert ids(held.take("c", "c", 1)) == ["GPU-1"]


def test_a_sick_one_is_counted_but_not_given() -> None:
    held = Devices((Device("GPU-0", "/dev/nvidia0", healthy=False), GPUS[1]))
    assert (held.capacity, held.allocatable) == (2, 1)
    assert ids(held.take("a", "c", 1)) == ["GPU-1"]


def test_nodes_share_them() -> None:
    assert [ids(each) for each in share(GPUS, 3)] == [["GPU-0", "GPU-1"], ["GPU-2"], ["GPU-3"]]
    assert share((), 2) == [(), ()]


def test_what_a_container_is_told() -> None:
    assert variables(GPUS[:2]) == {"CUDA_VISIBLE_DEVICES": "GPU-0,GPU-1", "NVIDIA_VISIBLE_DEVICES": "GPU-0,GPU-1"}
    assert variables(()) == {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}
    assert files(GPUS[:1])[0] == "/dev/nvidia0"
    assert files(()) == ()
