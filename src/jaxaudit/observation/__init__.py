"""Audits that run or trace: `audit.py` asks the tracer, `conclude.py` judges its reply; what a run shows by itself."""
