"""What lies outside the checkout, and how a test finds it or says that it is missing."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""


def shared() -> Path | None:
    """The folder of reference material: TRAINPLANE_SHARED, else `shared` beside the checkout, else None."""
    named = os.environ.get("TRAINPLANE_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    return folder if folder.is_dir() else None


def need_shared(part: str = "") -> Path:
    """The shared folder or a part of it (`seeds`, `conformance/cases`); skips the test where it is missing."""
    folder = shared()
    found = folder / part if folder else None
    if found is None or not found.exists():
        name = f"the shared folder's {part}" if part else "the shared folder"
        pytest.skip(
            f"needs {name}: the source documents and the answers of real servers are kept there; "
            "set TRAINPLANE_SHARED or put `shared` beside the checkout"
        )
    return found


def need_real_kubeconfig() -> Path:
    """The kubeconfig of a real cluster that tests may write to; skips the test where none is named."""
    named = os.environ.get("TRAINPLANE_REAL_KUBECONFIG")
    if not named:
        pytest.skip(
            "needs a real cluster: only kube-apiserver can say that it takes our CRDs; "
            "set TRAINPLANE_REAL_KUBECONFIG to the kubeconfig of one that may be written to"
        )
    path = Path(named)
    if not path.is_file():
        pytest.fail(f"TRAINPLANE_REAL_KUBECONFIG names {named}, and there is no such file")
    return path
