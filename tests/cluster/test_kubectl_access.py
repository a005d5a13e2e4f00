"""The real kubectl asks who may do what: tokens, roles that add up others, warnings of pod security, autoscalers."""

import time
from collections.abc import Iterator

import pytest

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)

ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: whole}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part: whole}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: piece, labels: {part: whole}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: greedy}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, hostNetwork: true, containers: [{name: c, image: i}]}}
"""
TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj}
spec: {suspend: true, runtimeRef: {name: torch-distributed}, trainer: {image: example.test/train:1}}
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("access")) as found:
        yield found


def test_a_token_is_created_and_lets_its_account_in(kubectl: Kubectl) -> None:
    kubectl("create serviceaccount worker")
    token = kubectl("create token worker --duration=20m").stdout.strip()
    assert token.count(".") == 2
    # A kubeconfig with a certificate shows that before any token, so the server is asked what the token is.
    review = f'{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{token}"}}}}'
    said = kubectl("create -o jsonpath={.status.user.username} -f -", given=review).stdout
    assert said == "system:serviceaccount:default:worker"
    assert "may not specify a duration less than 10 minutes" in kubectl.told(
        "create token worker --duration=1m", code=1
    )


def test_a_role_that_adds_up_others_shows_their_rules_and_allows_them(kubectl: Kubectl) -> None:
    kubectl("apply -f -", given=ROLES)
    kubectl("wait --for=jsonpath={.rules[0].resources[0]}=configmaps clusterrole/whole --timeout=60s")
    assert "configmaps" in kubectl.told("describe clusterrole whole")
    kubectl("create clusterrolebinding whole --clusterrole=whole --user=ann")
    assert kubectl.told("auth can-i get configmaps --as=ann").strip() == "yes"
    kubectl("label clusterrole piece part-")
    end = time.monotonic() + PATIENCE
    while "configmaps" in kubectl("get clusterrole whole -o jsonpath={.rules}").stdout:
        assert time.monotonic() < end, "the rules of the whole do not follow those of its pieces"
        time.sleep(0.1)
    assert kubectl.told("auth can-i get configmaps --as=ann", code=1).strip() == "no"


def test_the_author_of_a_job_is_warned_of_what_its_pods_would_be_refused_for(kubectl: Kubectl) -> None:
    said = kubectl("apply -f -", given=JOB).stderr
    assert 'Warning: would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)' in said
    said = kubectl("label namespace default pod-security.kubernetes.io/enforce=frivolous", code=1).stderr
    assert "must be one of privileged, baseline, restricted" in said


def test_a_train_job_is_autoscaled_and_old_versions_are_refused_by_name(kubectl: Kubectl) -> None:
    kubectl("apply -f -", given=TRAINJOB)
    assert "autoscaled" in kubectl.told("autoscale trainjob tj --min=1 --max=3")
    assert "TrainJob/tj" in kubectl.told("get hpa")
    said = kubectl.told("get --raw /apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", code=1)
    assert "autoscaling/v2" in said
