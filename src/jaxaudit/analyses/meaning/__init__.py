"""What values mean: logits, probabilities, indices, masks, ..., from the ops that made them first, names second."""

from jaxaudit.analyses.meaning.kinds import Kind, Meaning
from jaxaudit.analyses.meaning.read import Meanings, meanings_of

__all__ = ["Kind", "Meaning", "Meanings", "meanings_of"]
