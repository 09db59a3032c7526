"""Runs derivative rules of the user's on small random inputs, and compares them with what they stand for.

`met.py` writes down which rules a trace came across, `samples.py` makes inputs, `measure.py` evaluates, `judge.py`
concludes from numbers alone, `run.py` is the door.
"""
