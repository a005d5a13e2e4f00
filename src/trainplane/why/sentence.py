"""Words for sentences: counts, lists and amounts as people say them."""

import re
from collections.abc import Iterable, Mapping

from trainplane.api.quantity import Amount

LONGEST = 300
"""How much of what others say is worth repeating."""
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
NAMES = {"cpu": "CPU", "memory": "memory", "nvidia.com/gpu": "GPU", "ephemeral-storage": "disk"}


def listed(words: Iterable[str], *, most: int = 5) -> str:
    """Words as a sentence lists them, not too many of them."""
    all_words = list(words)
    if len(all_words) > most:
        all_words = [*all_words[:most], f"{len(all_words) - most} more"]
    *head, last = all_words or [""]
    return f"{', '.join(head)} and {last}" if head else last


def amount(name: str, value: Amount) -> str:
    """An amount of a resource: `2.5 CPU`, `4Gi`, `1 GPU`."""
    return figure(name, value) if name == "memory" else f"{figure(name, value)} {NAMES.get(name, name)}"


def figure(name: str, value: Amount) -> str:
    """The number of an amount: parts of a CPU as people write them, memory in its unit."""
    if name == "memory" or value.nano % 10**6:
        return str(value)
    return f"{value.nano / 10**9:.3f}".rstrip("0").rstrip(".")


def amounts(resources: Mapping[str, Amount]) -> str:
    """A resource list in a few words, CPU and memory first."""
    order = sorted(resources, key=lambda name: (name != "cpu", name != "memory", name))
    return ", ".join(amount(name, resources[name]) for name in order if resources[name] and name != "pods")


def quoted(text: str | None) -> str:
    """What another program said, on one line, not too long, and with nothing in it that a terminal would obey."""
    line = " ".join(_OBEYED.sub(" ", str(text or "")).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def is_or_are(number: int) -> str:
    """The verb for so many."""
    return "is" if number == 1 else "are"
