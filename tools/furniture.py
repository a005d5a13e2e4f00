"""src/trainplane/furniture.json: what the API makes of the furniture, so that no new cluster need find that out."""

import asyncio
import json
from datetime import UTC, datetime

from tools import ROOT
from tools.generated import main
from trainplane.api.meta import Raw
from trainplane.cluster.api import Api
from trainplane.cluster.log import Forgetful
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.store import Store
from trainplane.controllers import admission
from trainplane.furniture import MADE, NAMESPACES, outfit

PATH = ROOT / "src" / "trainplane" / MADE
_THEN = datetime(2026, 1, 1, tzinfo=UTC)


def render() -> str:
    """One line for each object, without what only the moment can say."""
    return "[" + ",\n".join(json.dumps(raw, separators=(",", ":")) for raw in asyncio.run(_made())) + "]\n"


async def _made() -> list[Raw]:
    store = Store(Forgetful(), now=lambda: 0.0)
    api = Api(store, kinds=SERVED_KINDS, admission=admission(store), now=lambda: _THEN, uid=lambda: "")
    async with asyncio.TaskGroup() as house:
        house.create_task(store.run())
        for name in NAMESPACES:
            await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        made = [_timeless(await api.create(raw)) for raw in outfit()]
        store.close()
    return made


def _timeless(raw: Raw) -> Raw:
    metadata = {name: item for name, item in raw["metadata"].items() if name != "resourceVersion"}
    metadata["creationTimestamp"] = ""
    metadata["managedFields"] = [{**entry, "time": ""} for entry in metadata["managedFields"]]
    return {**raw, "metadata": metadata}


if __name__ == "__main__":
    main(PATH, render)
