"""Frames come out as they went in, however the bytes were cut, and no bytes do worse than be refused."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.cluster.spdy import DICTIONARY, Broken, Data, Frame, Opened, Ping, Reader, Reset, Writer

STREAMS = st.integers(1, 2**31 - 1)
HEADERS = st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,12}", fullmatch=True), st.text(max_size=30), max_size=5)
FRAMES = st.one_of(
    st.builds(Opened, STREAMS, HEADERS),
    st.builds(Data, STREAMS, st.binary(max_size=300), st.booleans()),
    st.builds(Reset, STREAMS, st.integers(0, 2**32 - 1)),
    st.builds(Ping, st.integers(0, 2**32 - 1)),
)


def written(frames: list[Frame]) -> bytes:
    writer = Writer()
    made = b""
    for frame in frames:
        match frame:
            case Opened():
                made += writer.open(frame.stream, frame.headers)
            case Data():
                made += writer.data(frame.stream, frame.data, last=frame.last)
            case Reset():
                made += writer.reset(frame.stream, frame.status)
            case Ping():
                made += writer.ping(frame.id)
    return made


@given(st.lists(FRAMES, max_size=8), st.integers(1, 50))
def test_frames_survive_any_cut(frames: list[Frame], size: int) -> None:
    sent, reader = written(frames), Reader()
    heard = [frame for at in range(0, len(sent), size) for frame in reader.feed(sent[at : at + size])]
    assert heard == frames


@given(st.binary(max_size=400))
def test_nonsense_is_refused(data: bytes) -> None:
    try:
        list(Reader().feed(data))
    except Broken:
        return


def test_the_dictionary_is_that_of_the_protocol() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_headers_that_swell_are_refused() -> None:
    with pytest.raises(Broken, match="64 kB"):
        list(Reader().feed(Writer().open(1, {"a": "x" * 200_000})))
