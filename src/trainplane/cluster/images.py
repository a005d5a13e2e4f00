"""The names of images, as far as an API server reads them."""

import re

_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(
    rf"(?P<name>(?:{_DOMAIN}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*)(?P<tag>:[\w][\w.-]{{0,127}})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_LONGEST = 255


def _whole(name: str) -> str:
    """The name with the registry that is meant where none is said."""
    first, slash, _ = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    named = "." in first or ":" in first or first == "localhost" or first != first.lower()
    return name if named else f"docker.io/{name}"


def is_newest(image: str) -> bool:
    """Whether an image's name asks for the newest there is; one that cannot be read asks for nothing."""
    found = _NAME.fullmatch(image)
    if found is None or len(_whole(found["name"])) > _LONGEST:
        return False
    return found["tag"] == ":latest" or not (found["tag"] or found["digest"])
