"""Analyses: facts about values, computed by one solver for every domain."""
