"""Laws of a pod's life, whatever its containers do: it is never stuck, nothing starts too early, ends stay ends."""

from hypothesis import given
from hypothesis import strategies as st

from tests.node.stage import OVER, Raw, Stage
from trainplane.node.restarts import Pace

PACE = Pace(first=1.0, most=8.0)


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    apps = [{"name": f"app{i}", "image": "i"} for i in range(draw(st.integers(1, 3)))]
    init: list[Raw] = []
    for i in range(draw(st.integers(0, 3))):
        sidecar = {"restartPolicy": "Always"} if draw(st.booleans()) else {}
        init.append({"name": f"init{i}", "image": "i", **sidecar})
    policy = draw(st.sampled_from(["Never", "OnFailure", "Always"]))
    spec: Raw = {
        "containers": apps,
        "initContainers": init,
        "restartPolicy": policy,
        "terminationGracePeriodSeconds": 2,
    }
    if draw(st.booleans()):
        spec["activeDeadlineSeconds"] = draw(st.integers(1, 60))
    life = st.tuples(st.integers(0, 20), st.sampled_from([0, 0, 1, 137]))
    script = {each["name"]: draw(st.lists(life, min_size=1, max_size=3)) for each in (*init, *apps)}
    metadata = {"name": "p", "namespace": "ns", "uid": "u"}
    return Stage({"metadata": metadata, "spec": spec, "status": {}}, script, PACE)


@given(stages(), st.none() | st.integers(0, 30))
def test_a_pod_is_never_stuck_and_nothing_comes_too_early(stage: Stage, delete_after: int | None) -> None:
    stage.play(delete_after=delete_after)
    if stage.pod["spec"]["restartPolicy"] == "Never":
        apps = [each["name"] for each in stage.pod["spec"]["containers"]]
        assert all(stage.starts.count(name) <= 1 for name in apps)
    if delete_after is not None and delete_after < len(stage.phases):
        assert stage.is_forgotten or stage.phases[-1] in OVER


@given(stages(), st.none() | st.integers(0, 30))
def test_a_phase_that_is_over_stays(stage: Stage, delete_after: int | None) -> None:
    stage.play(delete_after=delete_after)
    ends = [phase for phase in stage.phases if phase in OVER]
    assert len(set(ends)) <= 1
    assert stage.phases[len(stage.phases) - len(ends) :] == ends
    order = {"Pending": 0, "Running": 1, "Succeeded": 2, "Failed": 2}
    assert [order[phase] for phase in stage.phases] == sorted(order[phase] for phase in stage.phases)


@given(stages())
def test_success_is_when_every_container_that_counts_has_succeeded(stage: Stage) -> None:
    stage.play(delete_after=None)
    if stage.phases[-1] not in OVER or stage.scene.doom:
        return
    codes = [stage.scene.of(each["name"]).life for each in stage.pod["spec"]["containers"]]
    good = all(life is not None and not life.code for life in codes)
    assert (stage.phases[-1] == "Succeeded") == good
