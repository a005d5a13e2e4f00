"""Deleting objects: preconditions, grace, finalizers, and what becomes of what they own."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import Kind
from trainplane.api.meta import FOREGROUND_DELETION, ORPHAN, Raw
from trainplane.api.raw import look
from trainplane.api.times import stamp
from trainplane.cluster.errors import Conflict, Forbidden, NotFound, success
from trainplane.cluster.ground import Answer, Call, Ground
from trainplane.cluster.log import Conflict as StoreConflict
from trainplane.cluster.log import Stored, Write, body
from trainplane.cluster.options import DeleteOptions
from trainplane.cluster.reading import qualified
from trainplane.cluster.strategy import strategy_of
from trainplane.cluster.writes import TRIES

PROTECTED = ("default", "kube-system", "kube-public")
"""Namespaces that stay."""
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)


class Deletion:
    """The verbs that delete."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def delete(self, call: Call, options: DeleteOptions) -> Answer:
        """Delete an object, or begin to."""
        for _ in range(TRIES):
            stored = self._ground.find(call.key)
            if stored is None:
                raise NotFound.of(call.asked.resource, call.name)
            _check(call.row, stored.object, options)
            answer = await self._delete(call.row, stored, options)
            if answer is not None:
                return answer
        raise Conflict.of(call.asked.resource, call.name)

    async def delete_collection(self, call: Call, options: DeleteOptions, found: Sequence[Stored]) -> None:
        """Delete every object that was found."""
        for stored in found:
            for _ in range(TRIES):
                current = self._ground.find(stored.key)
                if current is None or await self._delete(call.row, current, options):
                    break

    async def _delete(self, row: Kind, stored: Stored, options: DeleteOptions) -> Answer | None:
        """The answer, or None where somebody else was faster."""
        if row.resource == "namespaces":
            return await self._delete_namespace(row, stored, options)
        old = stored.object
        warnings = (_JOB_WARNING,) if _is_bare_job(row, options) else ()
        new = self._marked(row, old, options)
        metadata = new["metadata"]
        if metadata.get("finalizers") or metadata["deletionGracePeriodSeconds"]:
            if new == old:
                return Answer(200, old, stored.value, warnings)
            return await self._store(stored, new, options, warnings)
        if row.kind == "Pod" and not row.group and not options.dry_run and new != old:
            # Whoever watches a pod sees it marked before it goes.
            marked = await self._store(stored, new, options, warnings)
            current = self._ground.find(stored.key) if marked else None
            removed = current and await self._remove(row, current, current.object, options, warnings)
            # Upkeep may take away what was marked here: then it is gone, as was asked.
            return removed or (marked if self._ground.find(stored.key) is None else None)
        return await self._remove(row, stored, new, options, warnings)

    async def _store(
        self, stored: Stored, new: Raw, options: DeleteOptions, warnings: tuple[str, ...]
    ) -> Answer | None:
        if options.dry_run:
            return Answer(200, new, warnings=warnings)
        try:
            (change,) = await self._ground.write(Write(stored.key, body(new), stored.revision))
        except StoreConflict:
            return None
        return Answer(200, change.after.object if change.after else new, change.value, warnings)

    async def _remove(
        self, row: Kind, stored: Stored, new: Raw, options: DeleteOptions, warnings: tuple[str, ...]
    ) -> Answer | None:
        if not options.dry_run:
            try:
                await self._ground.write(Write(stored.key, None, stored.revision))
            except StoreConflict:
                return None
        if not strategy_of(row).shown_when_deleted:
            return Answer(200, success(row.resource, stored.key.name, new["metadata"]["uid"]), warnings=warnings)
        if row.kind != "Pod":
            new = stored.object
        return Answer(200, new, warnings=warnings)

    def _marked(self, row: Kind, old: Raw, options: DeleteOptions) -> Raw:
        """The object as it is once its deletion has begun."""
        metadata = dict(old["metadata"])
        finalizers = _finalizers(row, metadata.get("finalizers") or [], options)
        metadata.pop("finalizers", None)
        if finalizers:
            metadata["finalizers"] = finalizers
        grace = _grace(row, old, options)
        begun = metadata.get("deletionTimestamp") is not None
        if not begun or grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionTimestamp"] = stamp(self._ground.now() + timedelta(seconds=grace))
            metadata["deletionGracePeriodSeconds"] = grace
        if not begun and strategy_of(row).generation:
            metadata["generation"] = metadata.get("generation", 0) + 1
        return {**old, "metadata": metadata}

    async def _delete_namespace(self, row: Kind, stored: Stored, options: DeleteOptions) -> Answer | None:
        old, name = stored.object, stored.key.name
        if name in PROTECTED:
            raise Forbidden.of(row.resource, name, "this namespace may not be deleted")
        if look(old, "metadata", "deletionTimestamp"):
            if look(old, "spec", "finalizers") or look(old, "metadata", "finalizers"):
                return Answer(200, old, stored.value)
            return await self._remove(row, stored, old, options, ())
        metadata = {**old["metadata"], "deletionTimestamp": stamp(self._ground.now())}
        new = {**old, "metadata": metadata, "status": {**(old.get("status") or {}), "phase": "Terminating"}}
        return await self._store(stored, new, options, ())


def _check(row: Kind, old: Raw, options: DeleteOptions) -> None:
    metadata, kind = old["metadata"], qualified(row)
    if options.uid is not None and options.uid != metadata["uid"]:
        raise Conflict.of(
            kind,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated",
        )
    version = options.resource_version
    if version is not None and version != metadata["resourceVersion"]:
        raise Conflict.of(
            kind,
            metadata["name"],
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified",
        )


def _is_bare_job(row: Kind, options: DeleteOptions) -> bool:
    return row.group == "batch" and options.propagation is None and options.orphan is None


def _finalizers(row: Kind, given: list[Any], options: DeleteOptions) -> list[Any]:
    """The finalizers after a deletion has begun: those of its policy in place of those of another."""
    policy = options.propagation
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    if policy is None:
        if ORPHAN in given or FOREGROUND_DELETION in given:
            return given
        policy = "Orphan" if row.group == "batch" else "Background"
    others = [each for each in given if each not in (ORPHAN, FOREGROUND_DELETION)]
    added = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND_DELETION]}.get(policy, [])
    return [*others, *added]


def _grace(row: Kind, old: Raw, options: DeleteOptions) -> int:
    """How long a pod is given; other objects are given nothing."""
    if row.group or row.kind != "Pod":
        return 0
    spec, phase = old.get("spec") or {}, look(old, "status", "phase")
    if not spec.get("nodeName") or phase in (SUCCEEDED, FAILED):
        return 0
    grace = options.grace
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", 30)
    return grace if isinstance(grace, int) and grace >= 0 else 1
