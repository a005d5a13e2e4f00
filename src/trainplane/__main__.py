"""`python -m trainplane` is the `trainplane` command."""

from trainplane.cli.main import main

if __name__ == "__main__":
    main()
