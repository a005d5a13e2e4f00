"""Write down what the CRDs of Kubeflow Trainer bind: each path's type, default, limits and merge semantics, no prose.

KUBECONFIG=... python -m tools.record_trainer_facts tests/api/facts

What pods and JobSets share is left out: record_facts.py has it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tools.record_facts import CRD_WORDS, Schema, ask, dump

CRDS = ("trainjobs.trainer.kubeflow.org", "trainingruntimes.trainer.kubeflow.org")
WORDS = (*CRD_WORDS, "minProperties")
SHARED = ("affinity", "env", "resourcesPerNode", "securityContext", "tolerations", "volumeMounts", "volumes")


def paths(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every place of a schema with the words that bind it, down to where types of pods and JobSets begin."""
    words = {word: schema[word] for word in WORDS if word in schema}
    yield path, words
    if path.rpartition(".")[2] in SHARED or path in ("metadata", "spec.template.spec"):
        return
    for name, child in sorted(schema.get("properties", {}).items()):
        yield from paths(child, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from paths(schema["items"], path + "[]")
    if "additionalProperties" in schema:
        yield from paths(schema["additionalProperties"], path + "{}")


def main() -> None:
    """Record the facts into the folder named on the command line."""
    facts: dict[str, Schema] = {}
    for name in CRDS:
        crd = ask(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        facts |= {f"{name} {path}": words for path, words in paths(schema)}
    dump(Path(sys.argv[1]) / "trainer.json", facts)


if __name__ == "__main__":
    main()
