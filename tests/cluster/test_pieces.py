"""A long list arrives as it would whole, in pieces that a client can take one at a time."""

from pathlib import Path

import pytest

from tests.cluster.servers import Caller, serve
from trainplane.cluster.http.pieces import PIECE, Pieces


@pytest.mark.parametrize("sizes", [[], [0], [1], [PIECE], [PIECE, PIECE], [PIECE - 1, 1, 5], [3] * 7, [PIECE * 3, 2]])
@pytest.mark.parametrize("between", [b",", b",{"])
def test_pieces_are_the_whole(sizes: list[int], between: bytes) -> None:
    parts = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    pieces = Pieces(b"[", [memoryview(part) for part in parts], between=between, closing=b"]")
    whole = b"[" + between.join(parts) + b"]"
    assert b"".join(pieces) == bytes(pieces) == whole
    assert len(pieces) == pieces.size == len(whole)


def test_a_long_list_is_read_as_a_short_one(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        path = "/api/v1/namespaces/default/configmaps"
        for number in range(9):
            said = {"metadata": {"name": f"c{number}"}, "data": {"text": str(number) * PIECE}}
            code, _, _ = await call("POST", path, body=said)
            assert code == 201
        code, listed, headers = await call("GET", path)
        assert code == 200
        assert int(headers["Content-Length"]) > 9 * PIECE
        there = {item["metadata"]["name"]: item for item in listed["items"]}
        assert [there[f"c{number}"]["data"]["text"][:2] for number in range(9)] == [str(n) * 2 for n in range(9)]
        assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])
        _, table, _ = await call("GET", path, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
        assert len(table["rows"]) == len(listed["items"])

    serve(tmp_path, story)
