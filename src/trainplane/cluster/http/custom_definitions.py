"""The CustomResourceDefinitions of what is served: they can be read and applied again, and never change.

What `kubectl apply` notes of its last time is all that is kept: it warns where that is missing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

import orjson

from trainplane.api.crd import crd
from trainplane.api.kinds import CRD_KINDS, KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.times import stamp
from trainplane.cluster.errors import AlreadyExists, Forbidden, MethodNotAllowed, NotFound
from trainplane.cluster.ground import Call, Ground
from trainplane.cluster.http.answers import list_in, object_in
from trainplane.cluster.log import Conflict, Key, Stored, Write, body
from trainplane.cluster.negotiation import Form
from trainplane.cluster.reads import Batch, Event, Listed, bookmark, selection
from trainplane.cluster.resources import resource_of
from trainplane.cluster.wire import Request

ROW = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "", namespaced=False)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOTED = "lastApplied"
REVISION = 1
"""They are there before anything else is, and for as long."""


class CustomDefinitions:
    """The definitions of one cluster; the Store has what was noted of them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        rows = dict.fromkeys((*CRD_KINDS, *(row for row in KINDS if resource_of(row).custom)))
        made = [_established(crd(row), ground.now()) for row in sorted(rows, key=lambda row: row.resource)]
        self._by_name = {raw["metadata"]["name"]: raw for raw in made}
        for stored in ground.store.list(ROW.resource).items:
            if stored.key.name in self._by_name:
                self._note(stored.key.name, str(stored.object.get(_NOTED, "")))

    @property
    def _all(self) -> Iterable[Raw]:
        return self._by_name.values()

    def read(self, asked: Request, form: Form, *, now: datetime) -> Any:
        """One definition, or a list of them, in the form that was asked for."""
        include = asked.options.include_object
        if asked.verb == "get":
            found = self._by_name.get(asked.name)
            if found is None:
                raise NotFound.of(ROW.resource, asked.name)
            return object_in(found, form, now=now, include=include)
        chosen = selection(ROW, asked.options)
        items = [
            Stored(Key(ROW.resource, "", raw["metadata"]["name"]), REVISION, orjson.dumps(raw), 0)
            for raw in self._all
            if chosen.matches(raw)
        ]
        return list_in(ROW, Listed(items, REVISION), form, now=now, include=include)

    async def watch(self, call: Call) -> AsyncIterator[Batch]:
        """What is there, where it is asked for; nothing happens after that."""
        options = call.options
        chosen = selection(ROW, options)
        if options.send_initial_events or options.resource_version in ("", "0"):
            there = [Event("ADDED", orjson.dumps(raw)) for raw in self._all if chosen.matches(raw)]
            if options.send_initial_events and options.allow_watch_bookmarks:
                there.append(bookmark(ROW, REVISION, {"k8s.io/initial-events-end": "true"}))
            yield there
        await asyncio.Event().wait()

    async def write(self, asked: Request, sent: Any) -> Raw:
        """What writing a definition answers with: that which is there; others are refused by name."""
        name = asked.name or look(sent, "metadata", "name") or ""
        found = self._by_name.get(name)
        if asked.verb not in ("create", "update", "patch"):
            raise MethodNotAllowed
        if found is None:
            why = "this cluster serves a fixed set of kinds; run the controllers on a Kubernetes cluster to add others"
            raise Forbidden.of(ROW.resource, str(name), why)
        if asked.verb == "create":
            raise AlreadyExists.of(ROW.resource, name)
        noted = look(sent, "metadata", "annotations", LAST_APPLIED)
        if isinstance(noted, str) and not asked.options.dry_run:
            key = Key(ROW.resource, "", name)
            stored = self._ground.find(key)
            note = {"metadata": {"name": name}, _NOTED: noted}
            # Of two who note at once, the later is as right as the earlier.
            with suppress(Conflict):
                await self._ground.write(Write(key, body(note), stored.revision if stored else 0))
            self._note(name, noted)
        return self._by_name[name]

    def _note(self, name: str, applied: str) -> None:
        """Show what was applied the last time."""
        old = self._by_name[name]
        annotations = {**old["metadata"]["annotations"], LAST_APPLIED: applied}
        self._by_name[name] = {**old, "metadata": {**old["metadata"], "annotations": annotations}}


def _established(raw: Raw, now: datetime) -> Raw:
    made = stamp(now)
    names = raw["spec"]["names"]
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": made, "reason": reason, "message": message}
        for type_, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    versions = [version["name"] for version in raw["spec"]["versions"]]
    status = {"conditions": conditions, "acceptedNames": names, "storedVersions": versions}
    metadata = {**raw["metadata"], "creationTimestamp": made, "resourceVersion": str(REVISION), "generation": 1}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), LAST_APPLIED: "{}"}
    return {"kind": raw["kind"], **raw, "metadata": metadata, "status": status}
