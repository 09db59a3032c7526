"""Runs the first call of each transformed function once more after the script, and looks at the numbers.

`kept.py` holds on to what a call was given, `interpret.py` evaluates a jaxpr with an eye on its equations, `watches.py`
says what is noted of each, `judge.py` concludes from the notes, `run.py` is the door.
"""
