"""The recorded cases of a real API server, asked of an embedded one over HTTPS."""

import asyncio
import importlib.machinery
import importlib.util
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE
from trainplane.embed import Config, running

HERE = Path(__file__).parent
FILES = [file for folder in ("cases", "neighbours") for file in sorted((HERE / "api" / folder).glob("*.yaml"))]
DIFFERENT = {
    str(case): (name, group["why"])
    for name, group in yaml.safe_load((HERE / "api_differences.yaml").read_text(encoding="utf-8")).items()
    for case in group["cases"]
}
NOT_TRIED = ("not-served",)


BEAT = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "beat", "namespace": "default"}}


def _program() -> Any:
    loader = importlib.machinery.SourceFileLoader("apicases", str(HERE / "api" / "apicases"))
    spec = importlib.util.spec_from_loader("apicases", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class _Cluster(threading.Thread):
    """A cluster in a thread of its own, since the cases ask and wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.ready = threading.Event()
        self.folder = folder

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._closed = asyncio.get_running_loop(), asyncio.Event()
        async with running(Config(self.folder)) as cluster:
            self.ready.set()
            for beat in itertools.count():
                # The revision went on all the time where the cases were recorded.
                await cluster.api.apply({**BEAT, "spec": {"holderIdentity": str(beat)}}, manager="beat")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closed.wait(), 0.02)
                    return

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closed.set)
        self.join(PATIENCE)


@pytest.fixture(scope="module")
def program() -> Any:
    return _program()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, program: Any) -> Iterator[Any]:
    cluster = _Cluster(tmp_path_factory.mktemp("cases") / "cluster")
    cluster.start()
    assert cluster.ready.wait(PATIENCE)
    yield program.Server(cluster.folder / "kubeconfig")
    cluster.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_case(file: Path, server: Any, program: Any) -> None:
    group, why = DIFFERENT.get(file.name[:3], ("", ""))
    if group in NOT_TRIED:
        pytest.skip(why)
    unlike = []
    for number, (request, result) in enumerate(program.Case(server, file).run(), 1):
        found = program.differences(request["expect"], json.loads(json.dumps(result)))
        unlike += [f"request {number}: {line}" for line in found]
    if group:
        assert unlike, f"this case is equal now: take it out of api_differences.yaml, where it says: {why}"
    else:
        assert not unlike, "\n".join(unlike)
