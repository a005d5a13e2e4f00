"""Objects as the command line prints them: names, JSON and YAML in kubectl's forms."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from trainplane.api.meta import Raw
from trainplane.api.ref import group_of

FORMATS = ("wide", "json", "yaml", "name")


def output_option(*formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option -o with these formats, or all; without it a table for people."""
    wide = "wide" in (formats or FORMATS)
    said = "The format; a table by default, and wide has all of it, uncut." if wide else "The format; text by default."
    return click.option("-o", "--output", type=click.Choice(formats or FORMATS), default=None, help=said)


def show_objects(objects: Sequence[Raw], output: str, *, one: bool) -> None:
    """Print objects by name, as JSON or as YAML; `one` is for a single object that was asked for by name."""
    if output == "name":
        for raw in objects:
            click.echo(name_of(raw))
        return
    plain = [without_managers(raw) for raw in objects]
    show_value(plain[0] if one and len(plain) == 1 else as_list(plain), output)


def without_managers(raw: Raw) -> Raw:
    """The object without managedFields, which kubectl leaves out too: nobody reads them, and they are half of it."""
    return {**raw, "metadata": {key: value for key, value in raw["metadata"].items() if key != "managedFields"}}


def show_value(value: Any, output: str) -> None:
    """Print a JSON value as JSON or as YAML."""
    if output == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        from trainplane.cli.yaml_out import to_yaml

        click.echo(to_yaml(value), nl=False)


def show_names(kind: str, names: Iterable[str]) -> None:
    """Print objects of one kind by name, where no more of them is at hand."""
    for name in names:
        click.echo(f"{kind}/{name}")


def as_list(objects: Sequence[Raw]) -> Raw:
    """A List, as `kubectl get -o json` has it."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}


def name_of(raw: Raw) -> str:
    """`trainjob.trainer.kubeflow.org/digits`, as kubectl names objects."""
    group = group_of(raw.get("apiVersion", ""))
    kind = str(raw.get("kind", "")).lower()
    return f"{kind}.{group}/{raw['metadata']['name']}" if group else f"{kind}/{raw['metadata']['name']}"
