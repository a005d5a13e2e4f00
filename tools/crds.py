"""Write deploy/crds/, or with --check say whether it is current."""

import sys
from pathlib import Path

from tools import ROOT
from tools.generated import stale, write
from trainplane.api.crd import crd
from trainplane.api.kinds import CRD_KINDS
from trainplane.cli.crds import as_yaml

FOLDER = ROOT / "deploy" / "crds"
NOTICE = "# Written by `make docs` from the types. Do not edit.\n"


def render() -> dict[Path, str]:
    """Each file and its text."""
    return {FOLDER / f"{kind.group}_{kind.plural}.yaml": NOTICE + as_yaml(crd(kind)) for kind in CRD_KINDS}


def main() -> None:
    """Write the files that are not current, or only name them."""
    files = render()
    if "--check" in sys.argv[1:]:
        old = [str(path.relative_to(ROOT)) for path, text in files.items() if stale(path, text)]
        if old:
            sys.exit(f"not what the types say: {', '.join(old)}; run `make docs`")
        return
    for path, text in files.items():
        write(path, text)


if __name__ == "__main__":
    main()
