"""Observation: audits that run or trace the program, and what a run shows by itself."""
