"""The CustomResourceDefinitions of what is served: they can be read and applied again, and never change.

What `kubectl apply` notes of its last time is all that is kept, while the cluster runs: it warns where that is missing.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import orjson

from trainplane.api.crd import crd
from trainplane.api.kinds import CRD_KINDS, KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.times import stamp
from trainplane.cluster.errors import AlreadyExists, Forbidden, MethodNotAllowed, NotFound
from trainplane.cluster.ground import Call
from trainplane.cluster.http.answers import list_in, object_in
from trainplane.cluster.log import Key, Stored
from trainplane.cluster.negotiation import Form
from trainplane.cluster.reads import Batch, Event, Listed, bookmark, selection
from trainplane.cluster.resources import resource_of
from trainplane.cluster.wire import Request

ROW = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "", namespaced=False)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
REVISION = 1
"""They are there before anything else is, and for as long."""


class CustomDefinitions:
    """The definitions of one cluster."""

    def __init__(self, now: datetime) -> None:
        rows = dict.fromkeys((*CRD_KINDS, *(row for row in KINDS if resource_of(row).custom)))
        self._all = [_established(crd(row), now) for row in sorted(rows, key=lambda row: row.resource)]
        self._by_name = {raw["metadata"]["name"]: raw for raw in self._all}

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

    def write(self, asked: Request, sent: Any) -> Raw:
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
        return found if not isinstance(noted, str) or asked.options.dry_run else self._noted(name, noted)

    def _noted(self, name: str, applied: str) -> Raw:
        """The definition with what was applied the last time."""
        old = self._by_name[name]
        annotations = {**old["metadata"]["annotations"], LAST_APPLIED: applied}
        new = {**old, "metadata": {**old["metadata"], "annotations": annotations}}
        self._by_name[name] = new
        self._all = [new if raw is old else raw for raw in self._all]
        return new


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
