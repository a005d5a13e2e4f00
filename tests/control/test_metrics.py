"""Metrics in the text that Prometheus reads."""

import re

from trainplane.control.metrics import Counter, Gauge, Histogram, Metrics


def test_a_counter_has_a_line_for_each_set_of_labels() -> None:
    counter = Counter("looks_total", "Looks\nat keys.", labels=("controller", "why"))
    counter.add("job", 'a "b" \\ c')
    counter.add("job", 'a "b" \\ c', by=2)
    counter.add("gang", "x")
    assert list(counter.lines()) == [
        "# HELP looks_total Looks\\nat keys.",
        "# TYPE looks_total counter",
        'looks_total{controller="gang",why="x"} 1',
        'looks_total{controller="job",why="a \\"b\\" \\\\ c"} 3',
    ]


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram("wait_seconds", "Waits.", bounds=(0.5, 1.0))
    for seconds in (0.25, 0.5, 0.75, 8.0):
        histogram.observe(seconds)
    assert list(histogram.lines())[2:] == [
        'wait_seconds_bucket{le="0.5"} 2',
        'wait_seconds_bucket{le="1.0"} 3',
        'wait_seconds_bucket{le="+Inf"} 4',
        "wait_seconds_sum 9.5",
        "wait_seconds_count 4",
    ]


def test_a_gauge_is_measured_when_it_is_read() -> None:
    depth = {("job",): 1.0}
    gauge = Gauge("depth", "Depth.", labels=("controller",), read=lambda: depth)
    assert list(gauge.lines())[-1] == 'depth{controller="job"} 1.0'
    depth["job",] = 0.0
    assert list(gauge.lines())[-1] == 'depth{controller="job"} 0.0'


def test_every_line_has_the_form_that_prometheus_takes() -> None:
    metrics = Metrics()
    metrics.errors.add("job", "Conflict")
    metrics.reconciles.observe(0.1, "job")
    metrics.scheduling.observe(3.0)
    metrics.gauge("trainplane_jobs", "TrainJobs.", labels=("state",), read=lambda: {("Running",): 2})
    line = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+)')
    text = metrics.text()
    assert text.endswith("\n")
    assert [bad for bad in text.splitlines() if not line.fullmatch(bad)] == []
    assert 'trainplane_jobs{state="Running"} 2' in text
