"""Write every file that the code writes: the references, the CRDs, and the output of commands that documents show."""

from tests.places import shared
from tools import (
    cli_reference,
    console,
    coverage,
    crds,
    differences,
    furniture,
    jobset_checklist,
    rules_reference,
    why_reference,
)
from tools.generated import write


def main() -> None:
    """Write them all."""
    write(furniture.PATH, furniture.render())
    write(cli_reference.PATH, cli_reference.render())
    write(rules_reference.PATH, rules_reference.render())
    write(differences.PATH, differences.render())
    write(why_reference.PATH, why_reference.render())
    write(jobset_checklist.PATH, jobset_checklist.render())
    folder = shared()
    if folder is not None:
        write(coverage.PATH, coverage.render(folder))
    crds.main()
    console.main()


if __name__ == "__main__":
    main()
