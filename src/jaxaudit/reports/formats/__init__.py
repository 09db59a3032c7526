"""One module a format: `--format` takes its name, and its `FORMAT` says how to write it (see `reports/registry.py`)."""
