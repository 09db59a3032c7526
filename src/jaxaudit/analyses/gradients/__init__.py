"""Where gradient flows from what is differentiated to the loss, where it is cut, zero, or not there at all."""

from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.reach import Gradient, Leaf, gradients_of

__all__ = ["Edge", "Gradient", "Graph", "Leaf", "Node", "gradients_of"]
