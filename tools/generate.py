"""Write every file that the code writes: the references, the CRDs, and the output of commands that documents show."""

from tools import cli_reference, console, crds, differences, rules_reference
from tools.generated import write


def main() -> None:
    """Write them all."""
    write(cli_reference.PATH, cli_reference.render())
    write(rules_reference.PATH, rules_reference.render())
    write(differences.PATH, differences.render())
    crds.main()
    console.main()


if __name__ == "__main__":
    main()
