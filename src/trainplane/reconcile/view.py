"""View: the world as a controller sees it, read-only, by kind and name, by owner, and events by what they are about."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trainplane.api.meta import Raw
from trainplane.api.ref import Ref, group_of

__all__ = ["Ref", "View", "group_of"]


EVENTS = ("events.k8s.io", "Event")


def node_of(ref: Ref, raw: Raw) -> str:
    """The node of a pod; "" for one without, and for what is no pod."""
    is_pod = ref.kind == "Pod" and not ref.group
    return ((raw.get("spec") or {}).get("nodeName") or "") if is_pod else ""


class View:
    """Objects that do not change while a decision is taken."""

    __slots__ = ("__weakref__", "_by_kind", "_by_owner", "_dependents", "_events", "_objects", "_placed")

    def __init__(self, objects: Iterable[Raw] = ()) -> None:
        self._objects: dict[Ref, Raw] = {}
        self._by_kind: dict[tuple[str, str], list[Raw]] = defaultdict(list)
        self._by_owner: dict[str, list[Raw]] = defaultdict(list)
        self._dependents: dict[str, list[Raw]] = defaultdict(list)
        self._events: dict[str, list[Raw]] = defaultdict(list)
        self._placed: dict[str, list[Raw]] = defaultdict(list)
        for raw in objects:
            ref = Ref.of(raw)
            self._objects[ref] = raw
            self._by_kind[ref.group, ref.kind].append(raw)
            for owner in raw["metadata"].get("ownerReferences") or ():
                self._dependents[owner["uid"]].append(raw)
                if owner.get("controller"):
                    self._by_owner[owner["uid"]].append(raw)
            if (ref.group, ref.kind) == EVENTS:
                self._events[(raw.get("regarding") or {}).get("uid", "")].append(raw)
            if node := node_of(ref, raw):
                self._placed[node].append(raw)

    @classmethod
    def of(cls, *objects: Raw) -> "View":
        """A View of exactly these objects."""
        return cls(objects)

    def get(self, ref: Ref) -> Raw | None:
        """The object, or None where there is none."""
        return self._objects.get(ref)

    def has(self, ref: Ref) -> bool:
        """Whether there is such an object."""
        return ref in self._objects

    def all(self, group: str, kind: str, *, namespace: str | None = None) -> Iterator[Raw]:
        """Every object of a kind, in one namespace or in all."""
        for raw in self._by_kind.get((group, kind), ()):
            if namespace is None or raw["metadata"].get("namespace", "") == namespace:
                yield raw

    def controlled_by(self, uid: str, kind: str = "") -> list[Raw]:
        """What the object of this uid controls, of one kind or of all."""
        found = self._by_owner.get(uid, [])
        return [raw for raw in found if raw["kind"] == kind] if kind else found

    def owned_by(self, uid: str) -> list[Raw]:
        """What names the object of this uid among its owners, its controller or not."""
        return self._dependents.get(uid, [])

    def events_about(self, uid: str) -> list[Raw]:
        """The events about the object of this uid."""
        return self._events.get(uid, [])

    def pods_on(self, node: str) -> list[Raw]:
        """The pods that have this node, ended or not."""
        return self._placed.get(node, [])

    def news(self, group: str, kind: str, *, since: int) -> tuple[int, list[Ref] | None]:  # noqa: ARG002 - a Live's
        """What came, changed or went of a kind since a number that this gave before, and the number for the next time.

        None where nobody can tell, as here, or no longer can: then everything has to be looked at.
        """
        return 0, None
