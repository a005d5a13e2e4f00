"""What probes and hooks do in a container: a command that hangs is ended when nobody waits for it any more."""

import asyncio
from pathlib import Path

from tests.node.faults import marked
from tests.node.nodes import NAMESPACE, Nodes, container, played, pod, states
from tests.patience import PATIENCE


def test_a_probe_that_hangs_is_ended_and_the_next_is_alone(tmp_path: Path, runner: str) -> None:
    mark, probed = f"probe-of-{tmp_path}", tmp_path / "jobs" / NAMESPACE / "p" / "output" / "probed"
    hangs = f"echo again >> $TRAINPLANE_OUTPUT/probed; WHOSE={mark} exec sleep 600"
    probe = {"exec": {"command": ["sh", "-c", hangs]}, "timeoutSeconds": 1, "periodSeconds": 1}

    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="exec sleep 601", readinessProbe=probe)]))
        async with asyncio.timeout(PATIENCE):
            while not probed.exists() or len(probed.read_text().splitlines()) < 3:
                await asyncio.sleep(0.1)
        assert len(marked(mark)) <= 1, "those before it are gone"
        (state,) = states(await made.pod()).values()
        assert "running" in state

    played(tmp_path, play, runner=runner)
