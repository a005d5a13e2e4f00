"""What is kept of a failure names the cause and shows the last lines, and never the value of a Secret."""

import asyncio
import base64
from pathlib import Path

from tests.node.nodes import NAMESPACE, container, nodes, pod, states
from tests.patience import STORY

KEY = "-----BEGIN KEY-----\nbGluZSBvbmUgb2YgdGhlIGtleQ\nbGluZSB0d28gb2YgdGhlIGtleQ\n-----END KEY-----\n"


def test_a_report_lies_beside_the_log_and_hides_what_is_secret(tmp_path: Path, runner: str) -> None:
    values = {"token": "hf_very-secret", "key": KEY}

    async def play() -> None:
        async with asyncio.timeout(STORY), nodes(tmp_path, runner=runner) as made:
            data = {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}
            metadata = {"name": "keys", "namespace": NAMESPACE}
            await made.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
            spec = container(
                script='echo "login with $token failed"; cat /keys/key; echo "ModuleNotFoundError: torch" >&2; exit 1',
                envFrom=[{"secretRef": {"name": "keys"}}],
                volumeMounts=[{"name": "keys", "mountPath": "/keys"}],
                terminationMessagePolicy="FallbackToLogsOnError",
            )
            volumes = [{"name": "keys", "secret": {"secretName": "keys"}}]
            await made.create(pod(containers=[spec], volumes=volumes))
            ended = await made.ended()
            assert "hf_very-secret" in await made.log(), "whoever may read the log reads what was written"
            (kept,) = tmp_path.glob("node/logs/*/c/0.failure")
            said = kept.read_text()
            assert said.startswith("import error, exit code 1; install the package in the environment")
            message = states(ended)["c"]["terminated"]["message"]
            for text in (said, message):
                assert "login with *** failed\n" in text
                assert "ModuleNotFoundError: torch\n" in text
                assert "hf_very-secret" not in text
                assert "bGluZSBvbmUg" not in text
                assert "bGluZSB0d28g" not in text

    asyncio.run(play())
