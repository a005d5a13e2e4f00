"""No interleaving runs a key twice at once, and none loses a key."""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from trainplane.control.queue import BackOff, Queue

KEYS = st.sampled_from("abcde")
DELAYS = st.sampled_from((0.0, 0.5, 1.0, 7.0, 100.0))


class Interleaving(RuleBasedStateMachine):
    """Whatever is asked of a queue, beside the plainest account of what it owes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.queue: Queue[str] = Queue(lambda: self.now, back_off=BackOff(first=1.0, most=8.0))
        self.running: set[str] = set()
        self.owed: dict[str, float] = {}
        """By when each key must be to be had."""

    def owe(self, key: str, due: float) -> None:
        self.owed[key] = min(due, self.owed.get(key, due))

    @rule(key=KEYS, after=DELAYS)
    def add(self, key: str, after: float) -> None:
        self.queue.add(key, after=after)
        self.owe(key, self.now + after)

    @rule(key=KEYS)
    def retry(self, key: str) -> None:
        failures = self.queue.failures(key)
        delay = self.queue.retry(key)
        assert delay == min(8.0, 2.0**failures), "the delay doubles up to the most"
        self.owe(key, self.now + delay)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        assert self.queue.failures(key) == 0

    @rule(seconds=st.sampled_from((0.25, 1.0, 50.0)))
    def passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        key = self.queue.take()
        due = {owed for owed, moment in self.owed.items() if moment <= self.now and owed not in self.running}
        if key is None:
            assert not due, "a key that is due can be had"
            return
        assert key not in self.running, "no key runs twice at once"
        assert key in due, "nothing is looked at that nobody asked for, or too early"
        self.running.add(key)
        del self.owed[key]

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.queue.done(key)
        self.running.remove(key)

    @invariant()
    def counts_what_it_holds(self) -> None:
        assert self.queue.running == len(self.running)
        assert len(self.queue) + self.queue.later + self.queue.running <= 3 * 5, (
            "a key is remembered once in each state"
        )

    def teardown(self) -> None:
        """In the end every key that was asked for is looked at, in a bounded number of looks."""
        for key in sorted(self.running):
            self.queue.done(key)
        self.now += 1000.0
        seen = []
        for _ in range(len(self.owed) + 1):
            key = self.queue.take()
            if key is None:
                break
            seen.append(key)
            self.queue.done(key)
        assert sorted(seen) == sorted(self.owed)


Interleaving.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
TestInterleaving: Callable[..., object] = Interleaving.TestCase
