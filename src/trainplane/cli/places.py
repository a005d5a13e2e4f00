"""What images are on this machine, as the user says it: on the command line, and in a file of settings."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainplane.cli.clusters import Refused

if TYPE_CHECKING:
    from trainplane.node.images import ImageMapping

IMAGES = "images"
_KNOWN = (IMAGES,)


class NoPlace(Exception):
    """Nothing can run there; says why, and what to name instead."""


def settings_file() -> Path:
    """Where the user's settings are, whether there are any or not."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config).absolute() / "trainplane" / "config.toml"


def mapping(pattern: str, where: str, *, beside: Path) -> "ImageMapping":
    """Images whose names fit the pattern are run there; raises NoPlace."""
    from trainplane.node.images import HOST, ImageMapping

    if where == HOST:
        return ImageMapping(pattern)
    place = beside / Path(where).expanduser()
    if not place.is_dir():
        raise NoPlace(f"{where} is not a folder; name a virtual environment, a root folder, or `{HOST}`")
    if (place / "pyvenv.cfg").exists():
        return ImageMapping(pattern, environment=place)
    return ImageMapping(pattern, root=place)


def images_option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb an option that says what images are here, as its argument `images`."""
    return click.option(
        name,
        "images",
        multiple=True,
        metavar="PATTERN=PLACE",
        callback=_given,
        help="What an image is here: a virtual environment, a root folder, or `host`; may be given again.",
    )


def _given(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> "tuple[ImageMapping, ...]":
    found = []
    for each in value:
        pattern, equals, where = each.rpartition("=")
        if not equals or not pattern or not where:
            raise click.BadParameter(f"{each!r} is not PATTERN=PLACE, such as 'pytorch/*=host'", context, option)
        try:
            found.append(mapping(pattern, where, beside=Path.cwd()))
        except NoPlace as error:
            raise click.BadParameter(str(error), context, option) from None
    return tuple(found)


def configured(file: Path | None = None) -> "tuple[ImageMapping, ...]":
    """What the user's settings say of images, in their order; raises Refused with all that is wrong with them."""
    file = file or settings_file()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Refused(f"{file}: {what}; make it readable, or remove it") from None
    import tomllib

    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{file}: {error}; mend it, or remove it") from None
    wrong = list(_wrong(said, file))
    if wrong:
        raise Refused("\n".join(wrong))
    return tuple(mapping(pattern, where, beside=file.parent) for pattern, where in said.get(IMAGES, {}).items())


def _wrong(said: dict[str, Any], file: Path) -> Iterator[str]:
    from trainplane.api.problem import did_you_mean

    for key in said:
        if key not in _KNOWN:
            near = did_you_mean(key, _KNOWN)
            todo = f"did you mean {near}?" if near else f"there is {', '.join(_KNOWN)}"
            yield f"{file}: {key}: there is no such setting; {todo}"
    images = said.get(IMAGES, {})
    if not isinstance(images, dict):
        todo = f'write [{IMAGES}], and below it lines such as "pytorch/*" = "host"'
        yield f"{file}: {IMAGES}: this is not a table; {todo}"
        return
    for pattern, where in images.items():
        if not isinstance(where, str):
            yield f'{file}: {IMAGES}."{pattern}": this is not a place; name a folder, or "host", in quotes'
            continue
        try:
            mapping(pattern, where, beside=file.parent)
        except NoPlace as error:
            yield f'{file}: {IMAGES}."{pattern}": {error}'
