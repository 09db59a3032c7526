"""The shapes domain: the size of every axis and the dtype of every array, and the integers they are made of."""

from jaxaudit.analyses.shapes.domain import ShapesDomain
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.shapes.result import Context, Shapes

__all__ = ["Context", "ShapeFact", "Shapes", "ShapesDomain"]
