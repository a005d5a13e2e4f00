"""What is wrong with the paths of files in volumes."""

from collections.abc import Iterator


def path_faults(path: str) -> Iterator[str]:
    """What is wrong with a path that goes from one place to another below it."""
    if path.startswith("/"):
        yield "must be a relative path"
    if ".." in path.split("/"):
        yield "must not contain '..'"


def file_faults(path: str) -> Iterator[str]:
    """What is wrong with the path of a file in a volume; names that begin so are those of the node."""
    yield from path_faults(path)
    if path.startswith("..") and not path.startswith("../"):
        yield "must not start with '..'"
