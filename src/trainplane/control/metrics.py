"""Metrics: counters, gauges and histograms as Prometheus reads them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

Labels: TypeAlias = tuple[str, ...]
"""The values of a metric's labels, in the order of their names."""
V = TypeVar("V")

TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAITS = (0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 43200.0)
"""Upper bounds in seconds: of work, and of waiting."""


class _Metric(Generic[V]):
    """A name, what it says, and a value for each set of labels."""

    sort = "untyped"

    def __init__(self, name: str, about: str, *, labels: tuple[str, ...] = ()) -> None:
        self.name = name
        self._about = about
        self._labels = labels
        self._values: dict[Labels, V] = {}

    def lines(self) -> Iterable[str]:
        """The metric in the text form."""
        yield f"# HELP {self.name} {_escaped(self._about)}"
        yield f"# TYPE {self.name} {self.sort}"
        for values in sorted(self._values):
            yield from self._samples(dict(zip(self._labels, values, strict=True)), self._values[values])

    def _samples(self, labels: Mapping[str, str], value: V) -> Iterable[str]:
        yield f"{self.name}{_shown(labels)} {value}"


class Counter(_Metric[float]):
    """Something that only grows."""

    sort = "counter"

    def add(self, *labels: str, by: float = 1) -> None:
        """Count."""
        self._values[labels] = self._values.get(labels, 0) + by

    def value(self, *labels: str) -> float:
        """How much was counted."""
        return self._values.get(labels, 0)

    def items(self) -> dict[Labels, float]:
        """How much was counted, by labels."""
        return dict(self._values)


class Gauge(_Metric[float]):
    """Something that is measured when it is asked for."""

    sort = "gauge"

    def __init__(
        self, name: str, about: str, *, labels: tuple[str, ...] = (), read: Callable[[], Mapping[Labels, float]]
    ) -> None:
        super().__init__(name, about, labels=labels)
        self._read = read

    def lines(self) -> Iterable[str]:
        """The metric in the text form, measured now."""
        self._values = dict(self._read())
        return super().lines()


class Histogram(_Metric[list[float]]):
    """How often something took how long."""

    sort = "histogram"

    def __init__(
        self, name: str, about: str, *, labels: tuple[str, ...] = (), bounds: tuple[float, ...] = TIMES
    ) -> None:
        super().__init__(name, about, labels=labels)
        self._bounds = bounds

    def observe(self, value: float, *labels: str) -> None:
        """Note one that took so long."""
        counts = self._values.setdefault(labels, [0.0] * (len(self._bounds) + 2))
        counts[bisect_left(self._bounds, value)] += 1
        counts[-1] += value

    def _samples(self, labels: Mapping[str, str], value: list[float]) -> Iterable[str]:
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), value[:-1], strict=True):
            total += int(count)
            yield f"{self.name}_bucket{_shown({**labels, 'le': str(bound)})} {total}"
        yield f"{self.name}_sum{_shown(labels)} {value[-1]}"
        yield f"{self.name}_count{_shown(labels)} {total}"


class Metrics:
    """What the controllers tell of themselves."""

    def __init__(self) -> None:
        self.reconciles = Histogram("trainplane_reconcile_seconds", "Time from look to last write.", labels=_BY)
        self.errors = Counter("trainplane_reconcile_errors_total", "Looks that failed.", labels=(*_BY, "error"))
        self.writes = Counter("trainplane_writes_total", "Writes to the API.", labels=(*_BY, "verb", "kind"))
        self.lost_events = Counter("trainplane_events_lost_total", "Events that the API did not take.", labels=_BY)
        self.scheduling = Histogram("trainplane_scheduling_seconds", "From a pod's making to its node.", bounds=WAITS)
        self._all: list[Counter | Gauge | Histogram] = [
            self.reconciles,
            self.errors,
            self.writes,
            self.lost_events,
            self.scheduling,
        ]

    def gauge(
        self, name: str, about: str, *, labels: tuple[str, ...] = (), read: Callable[[], Mapping[Labels, float]]
    ) -> None:
        """Have something measured whenever the metrics are asked for; one of the same name is no longer."""
        self._all = [metric for metric in self._all if metric.name != name]
        self._all.append(Gauge(name, about, labels=labels, read=read))

    def text(self) -> str:
        """All of it, in Prometheus' text form (text/plain; version=0.0.4)."""
        return "".join(f"{line}\n" for metric in self._all for line in metric.lines())


_BY = ("controller",)


def _shown(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{_escaped(value, quote=True)}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""


def _escaped(text: str, *, quote: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quote else text
