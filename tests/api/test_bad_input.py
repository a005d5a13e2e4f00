"""Bad input of every sort gets an answer, soon and in little memory, and never a traceback."""

import resource
import subprocess
import sys
import textwrap

import pytest

from trainplane.api.check import check
from trainplane.api.documents import parse
from trainplane.api.schema import openapi
from trainplane.api.trainer import TrainJob

MEMORY = 500 * 1024 * 1024
SECONDS = 20
"""Of processor time, on however slow a machine; the slowest of these takes two on an ordinary one."""


def laughs(levels):
    """Nine aliases of nine aliases of nine aliases."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


def chain(links):
    """Each anchor one level deeper than the one before."""
    return "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, links))


def merges(fields, times):
    """An object that is merged into many."""
    base = ", ".join(f"k{i}: 1" for i in range(fields))
    return f"a: &a {{{base}}}\n" + "".join(f"b{i}: {{<<: *a}}\n" for i in range(times))


SMALL = [
    pytest.param(bytes(range(256)) * 100, "TP001", id="binary"),
    pytest.param(b"\x1f\x8b\x08\x00" + b"a" * 100, "TP001", id="gzip"),
    pytest.param(b"a: \x00b\n", "TP001", id="a zero byte"),
    pytest.param("a: é\n".encode("latin-1"), "TP001", id="Latin-1"),
    pytest.param("a: \ud800\n", "TP001", id="half a surrogate pair"),
    pytest.param("a: \x1b[31m\n", "TP001", id="a terminal's escape"),
    pytest.param(b"", "TP009", id="empty"),
    pytest.param(b"# nothing\n---\n", "TP009", id="comments alone"),
    pytest.param(b"hello\n", "TP009", id="a word"),
    pytest.param(laughs(10), "TP002", id="billion laughs"),
    pytest.param(chain(5000), "TP002", id="a chain of aliases"),
    pytest.param(merges(20_000, 100), "TP002", id="merges that explode"),
    pytest.param("a: &a [*a]\n", "TP006", id="a value in itself"),
    pytest.param("a: &a\n  <<: *a\n", "TP006", id="a merge with itself"),
    pytest.param("a: 1\na: 2\n", "TP005", id="a key twice"),
    pytest.param("a: 1\n" * 100_000, "TP005", id="a key a hundred thousand times"),
    pytest.param("a:\n\tb: 1\n", "TP004", id="tabs"),
    pytest.param("[" * 1_000_000, "TP002", id="deep lists"),
    pytest.param("{a: " * 100_000, "TP002", id="deep objects"),
    pytest.param("- " * 100_000, "TP002", id="deep dashes"),
    pytest.param("? " * 100_000, "TP002", id="deep keys"),
    pytest.param("".join(" " * i + "a:\n" for i in range(1000)), "TP002", id="deep indentation"),
    pytest.param('{"a":' * 100_000, "TP002", id="deep JSON without end"),
    pytest.param('{"a":' * 500 + "1" + "}" * 500, "TP002", id="deep JSON"),
    pytest.param("a: .inf\nb: .nan\n", "TP006", id="infinity"),
    pytest.param('{"a": NaN}', "TP006", id="NaN in JSON"),
    pytest.param('{"a": 1e400}', "TP006", id="beyond a double, in JSON"),
    pytest.param("a: 1e400\n", "TP008", id="beyond a double"),
    pytest.param("a: " + "9" * 100_000 + "\n", "TP008", id="a hundred thousand digits"),
    pytest.param('{"a": ' + "9" * 100_000 + "}", "TP006", id="a hundred thousand digits in JSON"),
    pytest.param("a: !foo b\n", "TP006", id="an unknown tag"),
    pytest.param("a: !!python/object/apply:os.system [ls]\n", "TP006", id="a tag that would run code"),
    pytest.param("? [a]\n: b\n", "TP006", id="a list as a key"),
    pytest.param("~: b\n", "TP006", id="null as a key"),
    pytest.param("a: @\n---\n" * 100_000, "TP003", id="a hundred thousand broken documents"),
    pytest.param("x" * 1_000_000 + ": 1\n", "TP003", id="a very long key"),
    pytest.param('{"a": "' + "\\" * 1_000_000, "TP003", id="backslashes without end"),
]
LARGE = {
    "50 MB of YAML": ('b"- abcdefgh\\n" * 5_000_000', "TP002"),
    "15 MB of YAML": ('b"- abcdefgh\\n" * 1_400_000', "TP002"),
    "a million items": ('"a:\\n" + "- 1\\n" * 1_000_000', "TP002"),
    "eight million numbers in brackets": ('"a: [" + "1," * 8_000_000 + "]"', "TP002"),
    "a million items of JSON": ("'[' + '{},' * 999_999 + '{}]'", "TP009"),
    "eight million numbers in JSON": ("'[' + '1,' * 7_999_999 + '1]'", "TP002"),
    "a long text in JSON that is no object": ("'[\"' + 'x,' * 8_000_000 + '\"]'", "TP009"),
    "four million separators": ('"---\\n" * 4_000_000', "TP002"),
    "sixteen million line breaks": ('"\\n" * 16_000_000', "TP009"),
    "a fault after three million comments": ('"a:\\n  b: 1\\n" + "#\\n" * 3_000_000 + " c: 1\\n"', "TP003"),
}


@pytest.mark.parametrize(("data", "rule"), SMALL)
def test_small_but_evil(data, rule):
    parsed = parse(data, "evil.yaml")
    assert rule in [problem.problem.rule.id for problem in parsed.problems]
    assert len(parsed.problems) <= 1_001
    for document in parsed.documents:
        assert all(str(document.locate(problem)) for problem in check(document.value, openapi(TrainJob)))


def test_aliases_are_counted_by_what_they_repeat():
    (problem,) = parse(laughs(7)).problems
    assert problem.problem.what == "the aliases repeat more than 200,000 values"


@pytest.mark.parametrize("what", LARGE)
def test_large_input_needs_little_time_and_memory(what):
    expression, rule = LARGE[what]
    script = textwrap.dedent(f"""
        from trainplane.api.documents import parse
        print(*(problem.problem.rule.id for problem in parse({expression}).problems))
    """)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (0, "")
    assert rule in done.stdout.split()


def test_a_very_large_good_list_is_checked():
    value = (
        parse('{"spec": {"runtimeRef": {"name": "t"}, "trainer": {"args": [' + '"a",' * 200_000 + '"a"]}}}')
        .documents[0]
        .value
    )
    assert [problem.field for problem in check(value, openapi(TrainJob))] == ["spec.trainer.args"]
