"""`trainplane crds`: the CustomResourceDefinitions, as a cluster takes them."""

import json
from collections.abc import Iterable

import click
import yaml

from trainplane.api.crd import crd
from trainplane.api.kinds import CRD_KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.cli.group import refuse


class _Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # the C one where it was built
    """Writes what occurs twice twice: aliases are hard to read, and schemas share much."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def as_yaml(document: Raw) -> str:
    """A document as YAML, keys in the order they were given."""
    text: str = yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return text


def named(word: str) -> Iterable[Kind]:
    """The kinds that a word means: a CRD's name, a plural, a kind or a short name."""
    names = {kind.resource: [kind] for kind in CRD_KINDS}
    for kind in CRD_KINDS:
        for name in (kind.plural, kind.singular, kind.kind, *kind.short_names):
            names.setdefault(name, []).append(kind)
    if word not in names:
        refuse(word, "CRD", list(names))
    return names[word]


@click.command()
@click.argument("name", required=False, default="")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The format.")
def crds(name: str, output: str) -> None:
    """Print the CustomResourceDefinitions that a cluster needs, or only those called NAME.

    NAME is that of a CRD (trainjobs.trainer.kubeflow.org), or a plural, a kind or a short name (tj).

    \b
    trainplane crds | kubectl apply -f -
    """
    found = [crd(kind) for kind in (named(name) if name else CRD_KINDS)]
    if output == "yaml":
        click.echo("---\n".join(as_yaml(document) for document in found), nl=False)
    elif len(found) == 1:
        click.echo(json.dumps(found[0], indent=2))
    else:
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}, indent=2))
