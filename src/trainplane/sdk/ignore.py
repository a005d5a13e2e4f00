"""Ignore: which paths of a folder stay behind, by patterns as .gitignore has them."""

import re
from collections.abc import Iterable


class Ignore:
    """Patterns in the order they were written; the last that fits decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines if (rule := _rule(line))]

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, relative and with slashes, is to be ignored. What lies in an ignored folder is too."""
        ignored = False
        for pattern, for_folders, wanted in self._rules:
            if (is_folder or not for_folders) and pattern.fullmatch(path):
                ignored = wanted
        return ignored


def _rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    """The pattern of a line, whether it is for folders alone, and whether it ignores."""
    text = re.sub(r"(?<!\\)\s+$", "", line)
    if not text or text.startswith("#"):
        return None
    wanted = not text.startswith("!")
    text = text.removeprefix("!")
    for_folders = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    # A slash before the end ties a pattern to the folder of the file; without one it fits at any depth.
    tied = "/" in text
    made = _pattern(text.lstrip("/"))
    return re.compile(made if tied else f"(?:.*/)?{made}"), for_folders, wanted


def _pattern(text: str) -> str:
    made, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            made, at = made + "(?:.*/)?", at + 3
        elif text.startswith("**", at):
            made, at = made + ".*", at + 2
        elif text[at] == "*":
            made, at = made + "[^/]*", at + 1
        elif text[at] == "?":
            made, at = made + "[^/]", at + 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inner = text[at + 1 : end].replace("\\", "\\\\")
            made += f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            at = end + 1
        else:
            at += text[at] == "\\" and at + 1 < len(text)
            made, at = made + re.escape(text[at]), at + 1
    return made
