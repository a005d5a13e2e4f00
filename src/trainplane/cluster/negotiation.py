"""Content negotiation: in which form to answer, and in which a body is read."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from trainplane.cluster.errors import BODY_TYPES, NotAcceptable, UnsupportedMediaType
from trainplane.cluster.options import APPLY_PATCH
from trainplane.cluster.wire import JSON, JSON_PATCH, MERGE_PATCH, PATCHES, PROTOBUF, YAML, media_type

TABLE = "Table"
PARTIAL = "PartialObjectMetadata"
PARTIAL_LIST = "PartialObjectMetadataList"
META_GROUP = "meta.k8s.io"
DISCOVERY_GROUP = "apidiscovery.k8s.io"
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""The patches of a custom kind: it has no strategic merge."""
_WRITABLE = (JSON, YAML)
_MAX_CLAUSES = 32


class Form(msgspec.Struct, frozen=True):
    """The form of an answer: a media type, and the kind that the object is turned into where one is asked for."""

    media: str = JSON
    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        """The apiVersion of the kind."""
        return f"{self.group}/{self.version}" if self.kind else ""

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer; only discovery names its kind there."""
        if self.group == DISCOVERY_GROUP:
            return f"{self.media};g={self.group};v={self.version};as={self.kind}"
        return self.media


PLAIN = Form()
OBJECT_FORMS = tuple(
    Form(kind=kind, group=META_GROUP, version=version)
    for kind in (TABLE, PARTIAL, PARTIAL_LIST)
    for version in ("v1", "v1beta1")
)
"""What objects and lists can be turned into."""
DISCOVERY_FORMS = (Form(kind="APIGroupDiscoveryList", group=DISCOVERY_GROUP, version="v2"),)
"""What /api and /apis can be turned into."""


@lru_cache(maxsize=128)
def answer_form(accept: str | None, forms: tuple[Form, ...] = OBJECT_FORMS, *, custom: bool = False) -> Form:
    """The first form in an Accept header that can be answered in; raises NotAcceptable.

    Answers are JSON or YAML: who would take protobuf as well gets JSON. `custom` is for kinds that a CRD
    defines, which say it in other words when no media type fits.
    """
    if not accept or not accept.strip():
        return PLAIN
    known = {(form.kind, form.group, form.version) for form in forms}
    understood = False
    for media, parameters in _clauses(accept):
        written = _written(media)
        understood = understood or written is not None or media == PROTOBUF
        if written is None:
            continue
        wanted = (parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        if not wanted[0]:
            return Form(written)
        if wanted in known:
            return Form(written, *wanted)
    raise NotAcceptable.form() if understood or custom else NotAcceptable.media()


def refusal_media(accept: str | None) -> str:
    """The media type of a refusal: YAML to whoever asks for that, JSON to everybody else."""
    try:
        return answer_form(accept).media
    except NotAcceptable:
        return JSON


def body_form(content_type: str) -> str:
    """The media type to read a body of a create, an update or a delete in; raises UnsupportedMediaType."""
    media = media_type(content_type) or JSON
    if media not in BODY_TYPES:
        raise UnsupportedMediaType.body()
    return media


def patch_form(content_type: str, *, custom: bool = False) -> str:
    """The media type of a patch; raises UnsupportedMediaType."""
    media = media_type(content_type)
    if media in (CUSTOM_PATCHES if custom else PATCHES):
        return media
    raise UnsupportedMediaType.body(CUSTOM_PATCHES) if custom else UnsupportedMediaType.patch()


def _written(media: str) -> str | None:
    """The media type that answers a clause."""
    if media in ("*/*", "application/*"):
        return JSON
    return media if media in _WRITABLE else None


def _clauses(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The clauses of an Accept header, the most wanted first."""
    clauses: list[tuple[float, str, dict[str, str]]] = []
    for text in accept.split(",")[:_MAX_CLAUSES]:
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        parameters = {name.strip(): value.strip().strip('"') for name, value in parameters.items()}
        clauses.append((_weight(parameters.get("q", "1")), media, parameters))
    for _, media, parameters in sorted(clauses, key=lambda clause: -clause[0]):
        yield media, parameters


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 0 <= weight <= 1 else 1.0
