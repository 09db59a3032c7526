"""Runs the command line as `python -m jaxaudit`."""

from jaxaudit.surfaces.cli import main

if __name__ == "__main__":
    main()
