"""The metadata of every object: names, labels, annotations, finalizers and owners, and what is wrong with them."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from trainplane.api.kinds import Kind
from trainplane.api.meta import FOREGROUND_DELETION, ORPHAN, Raw
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, required, too_long
from trainplane.cluster.ownership import MAX_ANNOTATIONS
from trainplane.cluster.resources import resource_of

_LABEL_FORM = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FORM}')"
)
SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)
_LABEL = re.compile(_LABEL_FORM)
_SUBDOMAIN = re.compile(_SUBDOMAIN_FORM)
_STANDARD_FINALIZERS = ("kubernetes", FOREGROUND_DELETION, ORPHAN)
_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
_PATH_NAMES = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
"""Kinds whose names may be anything that fits into a path."""
_LABEL_NAMES = ("Namespace", "Service")
SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"


def is_label(text: str) -> bool:
    """Whether a text is a DNS label."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def label_faults(text: str) -> Iterator[str]:
    """What keeps a text from being a DNS label."""
    if len(text) > 63:
        yield "must be no more than 63 characters"
    if not _LABEL.fullmatch(text):
        yield "must not contain dots" if _SUBDOMAIN.fullmatch(text) else LABEL_WORDS


def entry_name_causes(name: str, at: str, taken: Container[str]) -> Iterator[Cause]:
    """What is wrong with the name of an entry of a list, where each is a DNS label of its own."""
    if not name:
        yield required(at)
    elif faults := list(label_faults(name)):
        for fault in faults:
            yield invalid(at, name, fault)
    elif name in taken:
        yield duplicate(at, name)


def subdomain_faults(text: str) -> Iterator[str]:
    """What keeps a text from being a DNS subdomain."""
    if len(text) > 253:
        yield "must be no more than 253 characters"
    if not _SUBDOMAIN.fullmatch(text):
        yield SUBDOMAIN_WORDS


def path_name_faults(name: str) -> Iterator[str]:
    """What keeps a text from being a part of a path."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
    for part in ("/", "%"):
        if part in name:
            yield f"may not contain '{part}'"


def name_faults(row: Kind, name: str) -> Iterator[str]:
    """What keeps a text from being the name of such an object."""
    if row.kind in _PATH_NAMES or (row.kind == "Event" and not row.group):
        yield from path_name_faults(name)
    elif row.kind in _LABEL_NAMES and not row.group:
        yield from label_faults(name)
    else:
        yield from subdomain_faults(name)


_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_PART_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
)
_PREFIX = re.compile(_PART)
_VALUE = re.compile(f"({_PART})?")
_LONGEST_VALUE = 63
_WIDEST = 4
"""How many bytes a character has at most."""
_LONGEST_KEY = 253 + 1 + 63
_QUALIFIED_WORDS = (
    f"a valid label key {_PART_WORDS}(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_PART}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)


def key_faults(key: str) -> Iterable[str]:
    """What keeps a text from being the key of a label or of an annotation, or a finalizer."""
    return _known_key_faults(key) if len(key) <= _LONGEST_KEY else tuple(_key_faults(key))


@lru_cache(maxsize=2048)
def _known_key_faults(key: str) -> tuple[str, ...]:
    # The same few keys are on all objects.
    return tuple(_key_faults(key))


def _key_faults(key: str) -> Iterator[str]:
    if key.count("/") > 1:
        yield _QUALIFIED_WORDS
        return
    prefix, slash, name = key.rpartition("/")
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        for fault in subdomain_faults(prefix):
            yield f"prefix part {fault}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > 63:
        yield "name part must be no more than 63 bytes"
    if not _PREFIX.fullmatch(name):
        example = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        yield f"name part {_PART_WORDS}{example}'{_PART}')"


def value_faults(text: str) -> Iterator[str]:
    """What keeps a text from being the value of a label."""
    if len(text) > _LONGEST_VALUE:
        yield f"must be no more than {_LONGEST_VALUE} bytes"
    if not _VALUE.fullmatch(text):
        opening = "a valid label must be an empty string or "
        example = "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        yield f"{opening}{_PART_WORDS.removeprefix('must ')}{example}'({_PART})?')"


def metadata_causes(row: Kind, metadata: Mapping[str, Any], *, new: bool = True) -> Iterator[Cause]:
    """What is wrong with an object's metadata; the name is judged where the object is new."""
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if prefix and new:
        # What comes after a hyphen that ends it is not known yet, and a letter stands for it.
        for fault in name_faults(row, f"{prefix[:-2]}a" if prefix.endswith("-") else prefix):
            yield invalid("metadata.generateName", prefix, fault)
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif new:
        for fault in name_faults(row, name):
            yield invalid("metadata.name", name, fault)
    yield from map_causes(metadata, "metadata")
    yield from _owner_causes(metadata.get("ownerReferences") or ())
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        yield from _finalizer_causes(f"metadata.finalizers[{index}]", finalizer, custom=resource_of(row).custom)
    if {ORPHAN, FOREGROUND_DELETION} <= set(metadata.get("finalizers") or ()):
        words = f"finalizer {ORPHAN} and {FOREGROUND_DELETION} cannot be both set"
        yield invalid("metadata.finalizers", metadata["finalizers"], words)


def finalizer_warnings(row: Kind, metadata: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """What the author of an object of a CRD's kind should know of its new finalizers."""
    if resource_of(row).custom:
        for finalizer in metadata.get("finalizers") or ():
            if (
                finalizer not in (old.get("finalizers") or ())
                and "/" not in finalizer
                and finalizer not in _STANDARD_FINALIZERS
            ):
                yield (
                    f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name '
                    "to avoid accidental conflicts with other finalizer writers"
                )


def map_causes(metadata: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with labels and annotations of metadata that stands at a path."""
    for key, value in (metadata.get("labels") or {}).items():
        for fault in key_faults(key):
            yield invalid(f"{at}.labels", key, fault)
        if len(value) > _LONGEST_VALUE or not _VALUE.fullmatch(value):
            for fault in value_faults(value):
                yield invalid(f"{at}.labels", value, fault)
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        for fault in key_faults(key.lower()):
            yield invalid(f"{at}.annotations", key, fault)
    if _size(annotations) > MAX_ANNOTATIONS:
        yield too_long(f"{at}.annotations", MAX_ANNOTATIONS)


def _size(texts: Mapping[str, str]) -> int:
    """How many bytes keys and values have together, or that they have few."""
    characters = sum(map(len, texts)) + sum(map(len, texts.values()))
    if characters * _WIDEST <= MAX_ANNOTATIONS:
        return characters
    return sum(len(key.encode()) + len(value.encode()) for key, value in texts.items())


def _finalizer_causes(where: str, finalizer: str, *, custom: bool) -> Iterator[Cause]:
    for fault in key_faults(finalizer):
        yield invalid("metadata.finalizers", finalizer, fault)
    if not custom and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        yield invalid(where, finalizer, _UNQUALIFIED)


def _owner_causes(owners: Any) -> Iterator[Cause]:
    controller = None
    for owner in owners:
        where = "metadata.ownerReferences"
        version = owner.get("apiVersion") or ""
        if not version or version.count("/") > 1:
            yield invalid(f"{where}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{where}.{name}", owner.get(name) or "", "must not be empty")
        if owner.get("kind") == "Event" and version in ("v1", "events.k8s.io/v1"):
            yield invalid(where, owner, f"{_group_version(version)}, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            if controller is not None:
                words = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {_owner_words(owner)}"
                )
                yield invalid(where, owners, words)
            controller = _owner_words(owner)


def _owner_words(owner: Mapping[str, Any]) -> str:
    return f"{owner.get('kind')}/{owner.get('name')}"


def _group_version(version: str) -> str:
    return version if "/" in version else f"/{version}"


def without_repeated_owners(metadata: Raw) -> tuple[Raw, tuple[str, ...]]:
    """The metadata with each owner once, and what to warn of."""
    owners = metadata.get("ownerReferences") or []
    if len(owners) < 2:
        return metadata, ()
    uids = [owner.get("uid") for owner in owners]
    again = [uid for uid in dict.fromkeys(uids) if uids.count(uid) > 1]
    if not again:
        return metadata, ()
    kept = [owner for index, owner in enumerate(owners) if owner not in owners[:index]]
    told = (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
    )
    return {**metadata, "ownerReferences": kept}, (told + ", ".join(map(str, again)),)


def change_causes(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
    """What an update may not do to metadata."""
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if name in new and new.get(name) != old.get(name):
            # Told twice, as the API server judges metadata twice.
            yield from [invalid(f"metadata.{name}", new[name], "field is immutable")] * 2
    if old.get("deletionTimestamp"):
        added = [each for each in new.get("finalizers") or () if each not in (old.get("finalizers") or ())]
        if added:
            listed = ", ".join(f'"{each}"' for each in added)
            words = "no new finalizers can be added if the object is being deleted, found new finalizers []string"
            yield from [forbidden("metadata.finalizers", f"{words}{{{listed}}}")] * 2


def repeated_names(field: str, items: Any) -> Iterator[Cause]:
    """The items of a list whose name an earlier one has."""
    seen: set[str] = set()
    for index, item in enumerate(items or ()):
        name = item.get("name")
        if name in seen:
            yield duplicate(f"{field}[{index}].name", name)
        seen.add(name)


def with_metadata(raw: Raw, **changes: Any) -> Raw:
    """A copy of an object with these fields of its metadata set, or taken out where None is given."""
    metadata = {**raw["metadata"], **changes}
    return {**raw, "metadata": {name: item for name, item in metadata.items() if item is not None}}
