"""A tour through `jaxaudit diff`: plausible edits of two correct programs, one by one."""
