"""The rules of the words: what can be wrong with a text, with its schema, or with its dialect.

TP001-TP009 are about the text, TP010-TP029 about the schema, TP030-TP049 about dialects and what was inferred.
Rooms keep their own: `trainjob/rules.py` has TP050-TP149, `jobset/rules.py` TP150-TP199.
"""

from trainplane.api.problem import Rule, Severity

NOT_TEXT = Rule(
    "TP001",
    Severity.ERROR,
    "The file is not text",
    "A manifest is UTF-8 text in YAML or JSON. This file holds bytes that are not text: it is probably an archive, "
    "an image, or text in another encoding. Save it as UTF-8.",
)
