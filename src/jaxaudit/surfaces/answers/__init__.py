"""Answers to the questions that an agent asks: short rows, bounded, with what was left out.

They are plain dataclasses without slots, of which the SDK makes schemas.
"""
