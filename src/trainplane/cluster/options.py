"""The options of a request: what the query says, typed as the API server reads it, and what is refused in them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required, too_long
from trainplane.cluster.errors import BadRequest, Invalid

Pairs = tuple[tuple[str, str], ...]
"""A query in its order."""

APPLY_PATCH = "application/apply-patch+yaml"
STRICT = "Strict"
IGNORE = "Ignore"
"""What a request may want done about fields that nobody knows; else they are warned of."""
MAX_MANAGER = 128
_INT = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_BROWSERS = ("curl", "Wget", "Mozilla/5.0", "Go-http-client")


class Options(msgspec.Struct, frozen=True):
    """What a query may say of a request; each verb reads only its own, and None is where nothing was said."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int | None = None
    dry_run: tuple[str, ...] = ()
    field_manager: str = ""
    field_validation: str = ""
    force: bool | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    include_object: str = ""
    pretty: str = ""
    rest: Pairs = ()
    """What is not an option of the verb: those of logs and exec are read by whoever serves these, others by nobody."""


def _camel(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in others)


_NAMES = {name: _camel(name) for name in Options.__struct_fields__ if name != "rest"}
_LIST = [
    "label_selector",
    "field_selector",
    "limit",
    "continue_",
    "resource_version",
    "resource_version_match",
    "allow_watch_bookmarks",
    "send_initial_events",
    "timeout_seconds",
]
_DELETE = ["grace_period_seconds", "propagation_policy", "orphan_dependents", "dry_run"]
_WRITE = ["dry_run", "field_manager", "field_validation"]
_ANY = ["include_object", "pretty"]
_OF: dict[str, dict[str, str]] = {
    verb: {_NAMES[name]: name for name in (*names, *_ANY)}
    for verb, names in {
        "get": ["resource_version"],
        "list": _LIST,
        "watch": _LIST,
        "create": _WRITE,
        "update": _WRITE,
        "patch": [*_WRITE, "force"],
        "delete": _DELETE,
        "deletecollection": [*_LIST, *_DELETE],
    }.items()
}
_INTS = ("limit", "timeout_seconds", "grace_period_seconds")
_BOOLS = ("allow_watch_bookmarks", "send_initial_events", "force", "orphan_dependents")


def truth(text: str) -> bool:
    """A boolean of a query: only `false` and `0` are false, in any case."""
    return text.lower() not in ("false", "0")


def integer(text: str) -> int:
    """A whole number of a query; raises BadRequest."""
    if not _INT.match(text):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    # Longer ones are out of range, and slow to read.
    number = int(text) if len(text) <= 20 else 2**63
    if not -(2**63) <= number < 2**63:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def read(verb: str, query: Iterable[tuple[str, str]]) -> Options:
    """The options of a query; of an option that is given twice the first counts. Raises BadRequest."""
    known = _OF.get(verb, {})
    said: dict[str, Any] = {}
    rest: list[tuple[str, str]] = []
    for name, text in query:
        option = known.get(name)
        if option is None:
            rest.append((name, text))
        elif option == "dry_run":
            said[option] = (*said.get(option, ()), text)
        elif option not in said:
            said[option] = _value(option, text)
    return Options(**said, rest=tuple(rest))


def _value(option: str, text: str) -> Any:
    if option in _INTS:
        return integer(text)
    return truth(text) if option in _BOOLS else text


def write(options: Options) -> Pairs:
    """The query that says these options."""
    pairs: list[tuple[str, str]] = []
    for name, default in zip(Options.__struct_fields__, Options.__struct_defaults__, strict=True):
        value = getattr(options, name)
        if name == "rest" or value == default:
            continue
        pairs += [(_NAMES[name], text) for text in (value if isinstance(value, tuple) else (_text(value),))]
    return (*pairs, *options.rest)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_pretty(options: Options, user_agent: str = "") -> bool:
    """Whether the answer is for people's eyes: the query says so, or a browser or a tool like curl asks."""
    return options.pretty in _TRUE if options.pretty else user_agent.startswith(_BROWSERS)


def name_asked_for(options: Options) -> str:
    """The one name that a fieldSelector lets through, or "": access to a single object covers such a list."""
    match = re.search(r"(?:\A|,)metadata\.name==?([^=!,]+)(?:,|\Z)", options.field_selector)
    return match[1] if match else ""


def check(verb: str, options: Options, *, patch_type: str = "") -> None:
    """Refuse options that cannot be, as the API server does; raises Invalid with all that is wrong."""
    kind, causes = _CHECKS[verb]
    found = list(_patch(options, patch_type) if verb == "patch" else causes(options))
    if found:
        raise Invalid.options(kind, found)


def _list(options: Options) -> Iterator[Cause]:
    field, match = "resourceVersionMatch", options.resource_version_match
    if match:
        if not options.resource_version:
            yield forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
        if options.continue_:
            yield forbidden(field, "resourceVersionMatch is forbidden when continue is provided")
        if match not in ("Exact", "NotOlderThan"):
            yield not_supported(field, match, ("Exact", "NotOlderThan", ""))
        elif match == "Exact" and options.resource_version == "0":
            yield forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if options.send_initial_events is not None:
        yield forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch(options: Options) -> Iterator[Cause]:
    field, match = "resourceVersionMatch", options.resource_version_match
    if options.send_initial_events is not None and match != "NotOlderThan":
        yield forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if match:
        if options.send_initial_events is None:
            yield forbidden(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        if match != "NotOlderThan":
            yield not_supported(field, match, ("NotOlderThan",))
        if options.continue_:
            yield forbidden(field, "resourceVersionMatch is forbidden when continue is provided")


def _write(options: Options) -> Iterator[Cause]:
    yield from _dry_run(options.dry_run)
    manager = options.field_manager
    if len(manager.encode()) > MAX_MANAGER:
        yield too_long("fieldManager", MAX_MANAGER)
    for at, character in enumerate(manager):
        if not character.isprintable():
            yield invalid("fieldManager", manager, f"invalid character U+{ord(character):04X} (at position {at})")
            break
    if options.field_validation not in ("", "Ignore", "Strict", "Warn"):
        yield not_supported("fieldValidation", options.field_validation, ("", "Ignore", "Strict", "Warn"))


def _patch(options: Options, patch_type: str) -> Iterator[Cause]:
    if patch_type == APPLY_PATCH:
        if not options.field_manager:
            yield required("fieldManager", "is required for apply patch")
    elif options.force is not None:
        yield forbidden("force", "may not be specified for non-apply patch")
    yield from _write(options)


def _dry_run(dry_run: tuple[str, ...]) -> Iterator[Cause]:
    if set(dry_run) - {"All"}:
        yield not_supported("dryRun", list(dry_run), ("All",))


class DeleteOptions(msgspec.Struct, frozen=True):
    """How to delete; None is where nothing was said."""

    propagation: str | None = None
    orphan: bool | None = None
    grace: int | None = None
    dry_run: tuple[str, ...] = ()
    uid: str | None = None
    resource_version: str | None = None


def delete_options(options: Options, body: Mapping[str, Any] | None) -> DeleteOptions:
    """The options of a delete: its body's where it has one, else the query's; raises Invalid."""
    if body:
        grace = body.get("gracePeriodSeconds")
        if isinstance(grace, str):
            where = "Go struct field DeleteOptions.gracePeriodSeconds of type int64"
            raise BadRequest(f"json: cannot unmarshal string into {where}")
        found = DeleteOptions(
            propagation=body.get("propagationPolicy"),
            orphan=body.get("orphanDependents"),
            grace=body.get("gracePeriodSeconds"),
            dry_run=tuple(body.get("dryRun") or ()),
            uid=look(body, "preconditions", "uid"),
            resource_version=look(body, "preconditions", "resourceVersion"),
        )
    else:
        found = DeleteOptions(
            propagation=options.propagation_policy,
            orphan=options.orphan_dependents,
            grace=options.grace_period_seconds,
            dry_run=options.dry_run,
        )
    causes = list(_delete(found))
    if causes:
        raise Invalid.options("DeleteOptions", causes)
    return found


def _delete(options: DeleteOptions) -> Iterator[Cause]:
    policy = options.propagation
    if policy is not None and options.orphan is not None:
        yield invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
    elif policy not in (None, "Foreground", "Background", "Orphan"):
        yield not_supported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil"))
    yield from _dry_run(options.dry_run)


def _nothing(_: Options) -> Iterator[Cause]:
    return iter(())


_CHECKS: dict[str, tuple[str, Callable[[Options], Iterator[Cause]]]] = {
    "get": ("GetOptions", _nothing),
    "list": ("ListOptions", _list),
    "watch": ("ListOptions", _watch),
    "create": ("CreateOptions", _write),
    "update": ("UpdateOptions", _write),
    "patch": ("PatchOptions", _write),
    "delete": ("DeleteOptions", _nothing),
    "deletecollection": ("ListOptions", _list),
}
