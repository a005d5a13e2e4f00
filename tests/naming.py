"""Tests that are named in tables: whether such a test exists, without running anything."""

import ast
from functools import cache

from tests.places import ROOT


@cache
def _tests(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.update(f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
    return frozenset(names)


def is_test(name: str) -> bool:
    """Whether `path::name` or `path::Class::name` is a test that pytest would collect."""
    path, _, inner = name.partition("::")
    return inner.rpartition("::")[2].startswith("test") and inner in _tests(path)
