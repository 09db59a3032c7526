"""What a change of the code breaks: two states of a project, audited and compared.

    repository(directory)                  the git repository around it (`repository.py`)
    compared(repository, base, config)     the two states that a base means (`states.py`)
    patched(repository, patch, config)     the two states around a patch (`patches.py`)
    State.with_files({path: bytes|None})   a state with some files replaced, such as those before an edit
    audit_change(comparison, config)       the verdict: an `Outcome` whose report has `change` (`verdict.py`)
    scope_of, reasons                      what a change touches, and whether that is JAX, without an audit

The report of `audit_change` is that of the later state, with the issues, warnings and unknowns alone that the change
brought: every format renders it, and `fails` of the command line decides on it as ever. `report.change` says the rest
(`reports/change.py`): what was proved before and is not now, what was fixed, what is otherwise at boundaries.
"""
