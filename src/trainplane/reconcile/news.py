"""News: what has changed of a kind since one last asked, so that a look costs what has changed, not all there is."""

from trainplane.reconcile.view import Ref, View


class News:
    """One reader's place in what Views tell; another View is read from its beginning."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._marks: dict[tuple[str, str], int] = {}

    def of(self, view: View, group: str, kind: str) -> list[Ref] | None:
        """What came, changed or went of a kind since the last time; None where everything has to be looked at."""
        if view is not self._view:
            self._view = view
            self._marks.clear()
        self._marks[group, kind], refs = view.news(group, kind, since=self._marks.get((group, kind), -1))
        return refs
