"""What the schemas of CRDs say of text and numbers, as an API server reads it."""

import re
from functools import cache

RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a schema."""
    # An API server's `$` is the very end of the text; Python's would also stand before a last line break.
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)
