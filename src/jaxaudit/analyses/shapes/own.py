"""What an object holds, in terms of its own: sizes that its constructor was given go by the name of the object."""

from __future__ import annotations

from jaxaudit.analyses.dims import Atom, Dim, rebuilt, variable
from jaxaudit.analyses.shapes.facts import NOTHING, Outline, ShapeFact
from jaxaudit.ir.record import record, replace


def of_object(fact: ShapeFact, owner: ShapeFact) -> ShapeFact:
    """Return what a constructor left in an object, where methods read it: `n` becomes `self.n`.

    Two fields that were made of one size have it in common, whichever method reads them.
    """
    return _Owner(owner.symbol, owner.born).holding(fact) if owner.symbol else NOTHING


@record
class _Owner:
    symbol: str
    born: int

    def holding(self, fact: ShapeFact) -> ShapeFact:
        """Return a fact with variables of the object's own."""
        if fact.dims is not None:
            number = None if fact.number is None else self._size(fact.number)
            return replace(fact, dims=tuple(map(self._size, fact.dims)), number=number)
        if fact.items is not None:
            return replace(fact, items=tuple(map(self.holding, fact.items)))
        layer = fact.layer
        if layer is not None:
            layer = replace(layer, given=tuple((name, self.holding(one)) for name, one in layer.given))
        symbol = f"{self.symbol}.{fact.symbol}" if fact.symbol else ""
        number = None if fact.integer is None else self._size(fact.integer)
        made = ShapeFact(None, fact.dtype, fact.weak, symbol=symbol, born=self.born, integer=number, layer=layer)
        return replace(made, outline=None if fact.outline is None else self._outline(fact.outline))

    def _size(self, dim: Dim) -> Dim:
        return rebuilt(dim, self._image).labelled(dim.labels)

    def _image(self, atom: Atom) -> Dim | None:
        # What was there before anything ran is the same for all.
        own = atom.parts is None and atom.born
        return variable(f"{self.symbol}.{atom.text}", atom.kind, self.born) if own else None

    def _outline(self, outline: Outline) -> Outline:
        text = None if outline.whole is None else f"{self.symbol}.{outline.whole.text}"
        whole = None if text is None else Atom(text, None, "number", self.born)
        head, tail = (tuple(map(self._size, dims)) for dims in (outline.head, outline.tail))
        return Outline(whole, head, tail, outline.first, outline.last)
