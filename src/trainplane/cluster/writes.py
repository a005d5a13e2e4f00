"""Creating and changing objects: what is sent is read, owned, admitted, judged and stored."""

from collections.abc import Callable
from typing import Any

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import as_object, look
from trainplane.cluster import ownership
from trainplane.cluster.admission import judged
from trainplane.cluster.bodies import Body
from trainplane.cluster.built_in_admission import admitted, checked
from trainplane.cluster.causes import INVALID, TYPE_INVALID, Cause, invalid
from trainplane.cluster.crd_causes import BLOCKING, UNCHECKED, crd_causes, is_fine, unchecked
from trainplane.cluster.defaults import filled
from trainplane.cluster.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Internal,
    Invalid,
    NotFound,
)
from trainplane.cluster.go_words import json_word
from trainplane.cluster.ground import SYSTEM, Answer, Call, Ground
from trainplane.cluster.log import Conflict as StoreConflict
from trainplane.cluster.log import Write, body
from trainplane.cluster.names import (
    SUFFIX_CHARACTERS,
    change_causes,
    finalizer_warnings,
    metadata_causes,
    without_repeated_owners,
)
from trainplane.cluster.namespaces import check_namespace, companion_writes
from trainplane.cluster.owning import applied, owned
from trainplane.cluster.patching import patched, with_status
from trainplane.cluster.quota_admission import charges
from trainplane.cluster.reading import named, placed, qualified, read, reshaped, shaped, typed
from trainplane.cluster.refusals import kind_words, other_uid, taken
from trainplane.cluster.resources import resource_of
from trainplane.cluster.retyping import retyped
from trainplane.cluster.signing import signed
from trainplane.cluster.strategy import changed, prepared, read_back, strategy_of, with_status_of
from trainplane.cluster.validation import kind_causes
from trainplane.cluster.warnings_of_kinds import early_warnings, kind_warnings

TRIES = 16
"""How often a change that names no version is tried again on an object that others change too."""
_LONGEST_NAME = 63
_SERVERS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
_NOT_FOR_MAKERS = frozenset((*_SERVERS, "resourceVersion"))
_FIXED = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_NOTED = ("managedFields", "resourceVersion", "generation")

Make = Callable[[Raw], tuple[Raw, tuple[str, ...]]]
"""What a request makes of the live object, and what to warn of."""


class Writes:
    """The verbs that create and change."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def create(self, call: Call, sent: Body, *, data: bytes | None = None) -> Answer:
        """Make a new object."""
        raw, notes = _received(typed(sent, call.asked, data=data), call)
        metadata = raw.get("metadata")
        if metadata is None:
            raw = {**raw, "metadata": {}}
        elif not isinstance(metadata, dict):
            kind, word = call.row.kind, json_word(raw["metadata"])
            place = "value" if resource_of(call.row).custom else f"struct field {kind}.metadata"
            words = f"json: cannot unmarshal {word} into Go {place} of type v1.ObjectMeta"
            raise BadRequest(f'{kind} in version "{call.row.version}" cannot be handled as a {kind}: {words}')
        made, warnings, outline = read(raw, call, sent.repeated)
        metadata, told = without_repeated_owners(made["metadata"])
        made = {**made, "metadata": placed(metadata, call, metadata.get("namespace") or "")}
        entries = owned(self._ground, call, None, made, outline)
        told = (*notes, *warnings, *told)
        return await self._create(call, _with_entries(made, entries), told)

    async def _create(self, call: Call, made: Raw, warnings: tuple[str, ...]) -> Answer:
        version = made["metadata"].get("resourceVersion")
        if version and version != "0":
            raise Internal("resourceVersion should not be set on objects to be created")
        for _ in range(TRIES):
            try:
                new, told = self.new(call, made)
            except ApiError as error:
                error.warnings = (*warnings, *error.warnings)
                raise
            name = new["metadata"]["name"]
            key = call.key._replace(name=name)
            answer_warnings = (*warnings, *told)
            existing = self._ground.find(key)
            if existing is not None:
                if not made["metadata"].get("name") and call.name == "":
                    continue
                raise taken(call.asked, existing)
            charged = charges(self._ground.store, call.row, new)
            if call.is_dry:
                return Answer(201, new, warnings=answer_warnings)
            writes = [Write(key, body(new), 0), *companion_writes(self._ground, call.row, new), *charged]
            try:
                change, *_ = await self._ground.write(*writes)
            except StoreConflict:
                continue
            return Answer(201, change.after.object if change.after else new, change.value, answer_warnings)
        raise AlreadyExists.of(call.asked.resource, call.name or made["metadata"].get("name", ""))

    def new(self, call: Call, made: Raw) -> tuple[Raw, tuple[str, ...]]:
        """A new object ready to be stored, and what to warn of; `made` is in shape and has its owners."""
        ground, row = self._ground, call.row
        check_namespace(ground, call, made["metadata"].get("name") or made["metadata"].get("generateName") or "")
        metadata = {name: item for name, item in made["metadata"].items() if name not in _NOT_FOR_MAKERS}
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._generated(metadata["generateName"])
        metadata |= {"uid": ground.uid(), "creationTimestamp": ground.stamp()}
        if strategy_of(row).generation:
            metadata["generation"] = 1
        elif "generation" in made["metadata"]:
            metadata["generation"] = made["metadata"]["generation"]
        new = {**made, "metadata": metadata}
        new = signed(admitted(new, None, ground=ground, row=row), None, resource=row.resource, user=call.user)
        new = self._defaulted(row, new, None)
        new = prepared(new, row, place=ground.place)
        warnings = self._judge(call, new, None)
        ground.check_grant(call.user, new)
        return read_back(new, row), warnings

    def _defaulted(self, row: Kind, new: Raw, old: Raw | None) -> Raw:
        """The object as its room fills it in; what has the wrong shape is refused before."""
        admission = self._ground.admission.get(row.resource)
        if admission is None:
            return new
        custom = resource_of(row).custom
        if custom and row.status and "status" in new:
            new = with_status_of(old, new)
        # What built-in kinds hold has its shape by now.
        shapely = not custom or is_fine(row.type, new, old)
        causes = () if shapely else crd_causes(row.type, new, old)
        if any(cause.reason == TYPE_INVALID for cause in causes):
            # What is missing may yet be filled in.
            shapeless = [cause for cause in causes if cause.reason in (TYPE_INVALID, INVALID)]
            raise Invalid.of(qualified(row), new["metadata"].get("name", ""), shapeless)
        return admission.default(new, old, self._ground.looking, now=self._ground.now())

    def _generated(self, prefix: str) -> str:
        letters = SUFFIX_CHARACTERS
        suffix = "".join(letters[self._ground.place(len(letters))] for _ in range(5))
        return prefix[: _LONGEST_NAME - len(suffix)] + suffix

    async def update(self, call: Call, sent: Body, *, data: bytes | None = None, uid: str = "") -> Answer:
        """Put an object in place of another."""
        raw, notes = _received(named(typed(sent, call.asked, data=data), call), call)
        made, warnings = shaped(raw, call, sent.repeated)
        warnings = (*notes, *warnings)
        strategy = strategy_of(call.row)
        if self._ground.find(call.key) is None and strategy.made_by_update and not call.subresource:
            if wanted := uid or made["metadata"].get("uid"):
                nobody = {"metadata": {"uid": ""}}
                raise Conflict.of(call.asked.resource, call.name, other_uid(call, wanted, nobody))
            new = _unversioned(filled(made, call.row))
            new = _with_entries(new, owned(self._ground, call, None, new))
            return await self._create(call, new, warnings)

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            self._check_version(call, made, old, needed=strategy.needs_version)
            _check_uid(call, uid or made["metadata"].get("uid"), old)
            new = self._over(call, filled(made, call.row), old)
            return new, warnings

        return await self.change(call, make)

    async def patch(self, call: Call, form: str, patch: Body, *, uid: str = "") -> Answer:
        """Change an object by a patch in one of its forms; apply has a verb of its own."""

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            _check_uid(call, uid, old)
            face = call.asked
            shown = call.through.show(old) if call.through else old
            raw, text = patched(shown, form, patch.value, type_=face.type)
            raw = retyped(raw, call, text)
            raw = named({**raw, "metadata": as_object(raw.get("metadata"))}, call)
            raw, notes = _received(raw, call)
            made, warnings = reshaped(raw, call, text, old=old, twice=patch.twice())
            warnings = (*notes, *warnings)
            self._check_version(call, made, old, needed=resource_of(call.row).custom)
            return self._over(call, filled(made, call.row, old), old), warnings

        return await self.change(call, make)

    async def set_status(self, call: Call, status: Raw, *, uid: str = "", version: str = "") -> Answer:
        """Make this the status of an object: as a JSON patch would, and looking at nothing else."""

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            _check_uid(call, uid, old)
            self._check_version(call, {"metadata": {"resourceVersion": version}}, old, needed=False)
            raw, text = with_status(old, status)
            made, warnings = reshaped(raw, call, text, old=old)
            new = changed(filled(made, call.row, old), old, call.row, subresource=call.subresource)
            return _with_entries(new, owned(self._ground, call, old, new)), warnings

        return await self.change(call, make)

    async def apply(self, call: Call, patch: Any, *, uid: str = "") -> Answer:
        """Own the fields of an object as the manager of the call."""
        if not isinstance(patch, dict):
            patch = {}
        if patch.get("apiVersion") != call.asked.api_version or patch.get("kind") != call.asked.kind:
            raise BadRequest(f"invalid object type: {kind_words(patch)}")
        raw = named(patch, call)
        patch, notes = _received(patch, call)
        raw, _ = _received(raw, call)
        if look(patch, "metadata", "managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        stored = self._ground.find(call.key)
        if stored is None and not call.subresource:
            return await self._apply_new(call, patch, raw, notes, uid=uid)

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            _check_uid(call, uid, old)
            self._check_version(call, raw, old, needed=False)
            made = applied(self._ground, call, old, patch)
            if not call.namespace:
                made = {**made, "metadata": placed(made["metadata"], call, "")}
            entries = made["metadata"].get("managedFields")
            new, warnings = reshaped(_with_entries(made, None), call, patch, old=old, is_applied=True)
            new = self._over(call, filled(new, call.row, old), old, entries=entries or [])
            return new, (*notes, *warnings)

        return await self.change(call, make)

    async def _apply_new(self, call: Call, patch: Raw, raw: Raw, notes: tuple[str, ...], *, uid: str) -> Answer:
        if sent := uid or look(raw, "metadata", "uid"):
            words = f"uid mismatch: the provided object specified uid {sent}, and no existing object was found"
            raise Conflict.of(call.asked.resource, call.name, words)
        made = applied(self._ground, call, None, patch)
        bare = {name: item for name, item in made["metadata"].items() if name != "resourceVersion"}
        made = {**made, "metadata": placed(bare, call, bare.get("namespace") or "")}
        made, warnings = reshaped(made, call, patch, is_applied=True)
        return await self._create(call, filled(made, call.row), (*notes, *warnings))

    async def change(self, call: Call, make: Make) -> Answer:
        """Change the live object as `make` says, again where others were faster."""
        for _ in range(TRIES):
            stored = self._ground.find(call.key)
            if stored is None:
                raise NotFound.of(call.asked.resource, call.name)
            old = stored.object
            new, warnings = make(old)
            if new is old:
                return Answer(200, old, stored.value, warnings)
            try:
                warnings = (*warnings, *self._judge(call, new, old))
            except ApiError as error:
                error.warnings = (*warnings, *error.warnings)
                raise
            if ownership.same_but_for_times(old, new):
                return Answer(200, old, stored.value, warnings)
            self._ground.check_grant(call.user, new)
            if call.is_dry:
                shown = {**new, "metadata": {**new["metadata"], "resourceVersion": str(stored.revision)}}
                return Answer(200, shown, warnings=warnings)
            gone = vanishes(new)
            try:
                (done,) = await self._ground.write(Write(stored.key, None if gone else body(new), stored.revision))
            except StoreConflict:
                continue
            if gone:
                shown = {**new, "metadata": {**new["metadata"], "resourceVersion": str(done.revision)}}
                return Answer(200, shown, warnings=warnings)
            return Answer(200, done.after.object if done.after else new, done.value, warnings)
        raise Conflict.of(call.asked.resource, call.name)

    def _check_version(self, call: Call, raw: Raw, old: Raw, *, needed: bool) -> None:
        sent = look(raw, "metadata", "resourceVersion") or ""
        if sent and not sent.isdigit():
            raise Internal(f'strconv.ParseUint: parsing "{sent}": invalid syntax')
        if sent in ("", "0"):
            if needed:
                cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise Invalid.of(call.asked.resource, call.name, [cause])
        elif sent != old["metadata"]["resourceVersion"]:
            raise Conflict.of(call.asked.resource, call.name)

    def _over(self, call: Call, made: Raw, old: Raw, *, entries: list[Raw] | None = None) -> Raw:
        """The object that an update stores: what belongs to the server is as it was, and its owners are noted.

        `entries` say who owns what after an apply, which knows that already.
        """
        row, ground = call.row, self._ground
        sent, before = made["metadata"], old["metadata"]
        metadata = {name: item for name, item in sent.items() if name not in _SERVERS}
        # What may not change is judged as it was sent.
        metadata |= {name: sent[name] for name in _FIXED if sent.get(name) not in (None, before.get(name))}
        carried = {name: before[name] for name in _SERVERS if name in before and name not in metadata}
        new = {**made, "metadata": {**metadata, **carried, "resourceVersion": before["resourceVersion"]}}
        if entries is None:
            # What the kind puts in place by itself, and did before, is nobody's doing.
            entries = owned(ground, call, old, changed(new, old, row, subresource=call.subresource))
        new = _with_entries(new, entries)
        if not call.subresource:
            new = self._defaulted(row, new, old)
            new = signed(admitted(new, old, ground=ground, row=row), old, resource=row.resource, user=call.user)
        return changed(new, old, row, subresource=call.subresource)

    def _judge(self, call: Call, new: Raw, old: Raw | None) -> tuple[str, ...]:
        """What to warn of; raises Invalid with everything that is wrong."""
        row, subresource = call.row, call.subresource
        name = new["metadata"].get("name", "")
        causes: list[Cause] = []
        if old is None:
            causes += metadata_causes(row, new["metadata"])
        elif not _is_kept(new["metadata"], old["metadata"]):
            causes += metadata_causes(row, _not_judged(new["metadata"], old["metadata"]), new=False)
            causes += change_causes(new["metadata"], old["metadata"])
        custom = resource_of(row).custom
        if custom:
            found = crd_causes(row.type, new, old)
            if UNCHECKED not in found and any(cause.reason in BLOCKING for cause in causes):
                found = list(unchecked(row.type)) or found
        elif call.through:
            found = list(call.through.check(new, old))
        else:
            found = list(kind_causes(row, new, old, subresource=subresource))
            if found and old is None and row.kind == "Event":
                # Of a new Event that is wrong by itself the metadata is not looked at.
                causes = []
        if causes or found:
            refusal = Invalid.of(qualified(call.asked if custom else row), name, [*causes, *found])
            refusal.warnings = tuple(early_warnings(row, new)) if old is None else ()
            raise refusal
        warnings = tuple(finalizer_warnings(row, new["metadata"], (old or {}).get("metadata") or {}))
        admission = self._ground.admission.get(row.resource)
        # A size that is set by its scale is as much the author's as one in the spec; a status is the controllers'.
        if admission and subresource in ("", "scale"):
            warnings += judged(admission, new, old, lookup=self._ground.looking, kind=qualified(call.asked))
        if not subresource and call.user is not SYSTEM:
            warnings += tuple(kind_warnings(row, new, old))
        try:
            return (*warnings, *checked(new, old, ground=self._ground, row=row, subresource=subresource))
        except ApiError as error:
            error.warnings = warnings
            raise


def _check_uid(call: Call, uid: str | None, old: Raw) -> None:
    if uid and uid != old["metadata"]["uid"]:
        raise Conflict.of(call.asked.resource, call.name, other_uid(call, uid, old))


def _received(raw: Raw, call: Call) -> tuple[Raw, tuple[str, ...]]:
    """What was sent in the words of the kind that is stored, and what to warn of."""
    return call.through.receive(raw) if call.through else (raw, ())


def vanishes(new: Raw) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = new["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if new["kind"] == "Namespace":
        return not look(new, "spec", "finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def _with_entries(raw: Raw, entries: list[Raw] | None) -> Raw:
    if not entries and "managedFields" not in raw["metadata"]:
        return raw
    metadata = {name: item for name, item in raw["metadata"].items() if name != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**raw, "metadata": metadata}


def _is_kept(new: Raw, old: Raw) -> bool:
    """Whether metadata is the same but for what the server writes into it, so that it was judged before."""
    return all(old.get(name) is item for name, item in new.items() if name not in _NOTED) and all(
        name in new for name in old if name not in _NOTED
    )


def _not_judged(new: Raw, old: Raw) -> Raw:
    """What of an object's metadata is not the very same as before, and its name."""
    return {name: item for name, item in new.items() if item is not old.get(name) or name == "name"}


def _unversioned(raw: Raw) -> Raw:
    metadata = {name: item for name, item in raw["metadata"].items() if name != "resourceVersion"}
    return {**raw, "metadata": metadata}
