"""Answers in YAML, for the few who ask for it."""

from typing import Any

import yaml


def as_yaml(body: Any) -> bytes:
    """The YAML of a JSON value."""
    return yaml.dump(body, Dumper=_Dumper, allow_unicode=True, width=1_000_000).encode()


class _Dumper(yaml.CSafeDumper):
    """YAML as the API server writes it: times in quotes, no references."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write everything out."""
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Text that reads as something else is put in double quotes, as the API server does.
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"  # type: ignore[no-untyped-call]
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain and text else '"')


_Dumper.add_representer(str, _text)
