"""Runs the first call of each transformed function and a later one again after the script, and looks at the numbers.

`kept.py` holds on to what a call was given, `interpret.py` evaluates a jaxpr with an eye on its equations, `watches.py`
says what is noted of each, `judge.py` concludes from the notes, `program.py` evaluates calls as they were and changed,
`repeats.py` compares calls, `run.py` is the door.
"""
