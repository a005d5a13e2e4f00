"""The page about the fields of a pod names every field that there is, and says of each what the code does."""

import re

import msgspec
import pytest

from tests.places import ROOT
from trainplane.api.containers import Container, EphemeralContainer, SecurityContext
from trainplane.api.pod import PodSecurityContext, PodSpec
from trainplane.api.volumes import Volume
from trainplane.node.honour import NOWHERE
from trainplane.node.volumes import HERE

PAGE = (ROOT / "docs" / "pod-fields.md").read_text(encoding="utf-8")
STRUCTS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "A pod": (PodSpec,),
    "The securityContext of a pod": (PodSecurityContext,),
    "A container": (Container, EphemeralContainer),
    "The securityContext of a container": (SecurityContext,),
    "A volume": (Volume,),
}


def rows(section: str) -> dict[str, str]:
    """What the page says of each field of a section."""
    found: dict[str, str] = {}
    for line in PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0].splitlines():
        if match := re.match(r"\| (`.*`) \| (.*) \|$", line):
            for field in re.findall(r"`([^`]+)`", match[1]):
                assert field not in found, f"{field} is told of twice"
                found[field] = match[2]
    return found


@pytest.mark.parametrize("section", STRUCTS)
def test_every_field_is_told_of(section: str) -> None:
    fields = {each.encode_name for struct in STRUCTS[section] for each in msgspec.structs.fields(struct)}
    assert set(rows(section)) == fields


def test_fields_that_are_not_honoured_are_those_of_which_pods_are_told() -> None:
    plain = {field for section in STRUCTS for field, said in rows(section).items() if said.startswith("not honoured")}
    inside = {"dnsPolicy", "hostUsers", "hostPort", "mountPropagation", "probe host"}
    assert plain | inside == set(NOWHERE)


def test_volumes_that_are_refused_are_those_that_are_not_made() -> None:
    refused = {field for field, said in rows("A volume").items() if said == "refused"}
    assert set(rows("A volume")) - refused == {"name", *HERE}
