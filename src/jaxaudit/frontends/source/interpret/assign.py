"""Assignments: every kind of target, augmented and annotated ones included."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.interpret import attributes, subscripts
from jaxaudit.frontends.source.interpret.expressions import apply_binary, look_up
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.staging import captured_values
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.notes.shape_notes import note_assignment
from jaxaudit.frontends.source.notes.unpacking import note_packed, note_unpacking, note_unzipped
from jaxaudit.frontends.source.values.arguments import known_items, run_through
from jaxaudit.frontends.source.values.frames import is_own
from jaxaudit.frontends.source.values.heap import Box, DictBox, ListBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, Sequence, named, sized
from jaxaudit.frontends.source.values.structure import argument, materialise, rebuild
from jaxaudit.ir import Argument, Exit
from jaxaudit.spans import Span


def assign_statement(it: Interpreter, node: ast.Assign) -> Exit:
    """Interpret `a = b = value`."""
    counted = _counting(it, node)
    if counted is not None:
        return augmented(it, counted)
    newest = it.builder.newest
    apart = isinstance(node.targets[0], ast.Tuple | ast.List)
    value, before = it.evaluate(run_through(node.value) if apart else node.value), it.frame.env
    if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Tuple):
        before = dict(before)
    for target in node.targets:
        assign(it, target, value, it.span(node))
    bindings.note_alias(it, node.value, value, newest)
    bindings.note_taken(it, node, before)
    bindings.note_unread(it, node, node.targets, node.value, before)
    note_assignment(it, node, node.targets[0])
    return Exit.FALL


def _counting(it: Interpreter, node: ast.Assign) -> ast.AugAssign | None:
    """Return `self.n = self.n + 1` as `self.n += 1`: it changes state that lives elsewhere in the same way."""
    match node:
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target],
            value=ast.BinOp(left=ast.Name() | ast.Attribute() as left, op=op, right=ast.Constant() as step),
        ) if ast.unparse(target) == ast.unparse(left):
            names = (it.frame.global_names, it.frame.nonlocal_names)
            if isinstance(target, ast.Attribute) or any(target.id in one for one in names):
                return ast.copy_location(ast.AugAssign(target, op, step), node)
    return None


def annotated(it: Interpreter, node: ast.AnnAssign) -> Exit:
    """Interpret `a: T = value`."""
    if node.value is not None:
        assign(it, node.target, it.evaluate(node.value), it.span(node))
        bindings.note_unread(it, node, [node.target], node.value, it.frame.env)
        note_assignment(it, node, node.target)
    return Exit.FALL


def augmented(it: Interpreter, node: ast.AugAssign) -> Exit:
    """Interpret `a += value`."""
    target, span = node.target, it.span(node)
    if isinstance(target, ast.Name):
        with it.unnoted():
            current = look_up(it, target.id, span)
        value = _in_place(it, node.op, current, it.evaluate(node.value), span)
        bind_name(it, target.id, value, span, augmented=True)
    elif isinstance(target, ast.Attribute):
        base = it.evaluate(target.value)
        with it.unnoted():
            current = attributes.read(it, base, target.attr, span)
        value = _in_place(it, node.op, current, it.evaluate(node.value), span)
        attributes.write(it, base, target.attr, value, span, augmented=True)
    elif isinstance(target, ast.Subscript):
        base, index = it.evaluate(target.value), it.evaluate(target.slice)
        with it.unnoted():
            current = subscripts.read(it, base, index, span)
        value = apply_binary(it, node.op, current, it.evaluate(node.value), span)
        subscripts.write(it, base, index, value, span, augmented=True)
    return Exit.FALL


def _in_place(it: Interpreter, op: ast.operator, current: Abstract, value: Abstract, span: Span) -> Abstract:
    if isinstance(op, ast.Add) and isinstance(current, Ref) and isinstance(box := it.heap[current], ListBox):
        items = known_items(it, value)
        if items is not None and len(box.items) + len(items) < 256:
            # `xs += ys` changes the list that other names may hold too.
            it.heap[current] = ListBox((*box.items, *items), box.kind)
            return current
    return apply_binary(it, op, current, value, span, augmented=True)


def assign(it: Interpreter, target: ast.expr, value: Abstract, span: Span) -> None:
    """Bind a value to a target."""
    match target:
        case ast.Name(id=identifier):
            bind_name(it, identifier, value, span)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            unpack(it, targets, value, it.span(target))
        case ast.Attribute(value=base, attr=name):
            attributes.write(it, it.evaluate(base), name, value, span)
        case ast.Subscript(value=base, slice=index):
            subscripts.write(it, it.evaluate(base), it.evaluate(index), value, span)
        case ast.Starred(value=inner):
            assign(it, inner, value, span)


def bind_name(it: Interpreter, identifier: str, value: Abstract, span: Span, *, augmented: bool = False) -> None:
    """Bind a value to a variable of the open frame, or to the one that `global` or `nonlocal` names."""
    frame = it.frame
    # What is one thing in this turn may be another in the next, as with the parameters of a call.
    place = f"{frame.place}:{frame.turn}" if frame.turn else frame.place
    value = sized(named(value, identifier), identifier, place)
    if identifier in frame.global_names:
        attrs: dict[str, object] = {"name": identifier, "owner": frame.module.name, "augmented": augmented}
        it.emit("py.store_global", span, {"value": _stored(it, value, span)}, attrs, results=0)
        # Whoever reads the variable later may see this value or an earlier one.
        frame.global_reads[identifier] = value
        frame.env[identifier] = value
        if frame.module.frame is not None and isinstance(frame.module.frame.env.get(identifier), Const):
            frame.module.frame.env[identifier] = it.unknown("a global that functions assign to", span, identifier)
        return
    if identifier in frame.nonlocal_names:
        scope = frame.enclosing()
        while scope is not None and identifier not in scope.env:
            scope = scope.enclosing()
        attrs = {"name": identifier, "owner": scope.opened if scope is not None else 0, "augmented": augmented}
        if scope is not None and scope.function is not None and frame.function is not None:
            attrs["private"] = is_own(scope.function.node, frame.function.node, identifier)
        it.emit("py.store_nonlocal", span, {"value": _stored(it, value, span)}, attrs, results=0)
        if scope is not None:
            for loop in it.rebound:
                loop.setdefault((scope, identifier), scope.env[identifier])
            scope.env[identifier] = value
        return
    if identifier in frame.captured and identifier in frame.env:
        it.emit("py.rebind", span, attrs={"name": identifier, "owner": frame.opened}, results=0)
    frame.env[identifier] = value


def _stored(it: Interpreter, value: Abstract, span: Span) -> Argument:
    """Return what is stored outside: a function together with the values that it reads from around it."""
    captured = captured_values(it, value)
    return (argument(it, value, span), *captured) if captured else argument(it, value, span)


def unpack(it: Interpreter, targets: list[ast.expr], value: Abstract, span: Span) -> None:
    """Bind the items of a value to several targets, one of which may be starred."""
    star = next((at for at, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    note_unpacking(it, len(targets), star, value, span)
    note_packed(it, targets, value, span)
    note_unzipped(it, targets, value, span)
    items = _items(it, value, len(targets), star, span)
    for target, item in zip(targets, items, strict=True):
        inner = target.value if isinstance(target, ast.Starred) else target
        assign(it, inner, item, span)


def _items(it: Interpreter, value: Abstract, count: int, star: int | None, span: Span) -> list[Abstract]:
    known = known_items(it, value)
    if known is not None:
        if star is None and len(known) == count:
            return list(known)
        if star is not None and len(known) >= count - 1:
            after = count - star - 1
            middle = it.heap.new(ListBox(known[star : len(known) - after]))
            return [*known[:star], middle, *(known[len(known) - after :] if after else ())]
    if isinstance(value, Sequence):
        return [_sequence_item(it, value, at, star, count, span) for at in range(count)]
    whole = materialise(it, value, span)
    attrs = {"count": count, "star": star}
    op = it.emit("py.unpack", span, {"base": whole}, attrs, results=count)
    array = isinstance(value, Leaf) and value.array
    items: list[Abstract] = [Leaf(result, array=array) for result in op.results]
    if star is not None:
        # What is left over is a list, whatever it was taken from.
        rows = it.emit("py.container", span, {"rows": op.results[star]}, {"kind": "list"}).result
        items[star] = it.heap.new(OpaqueBox(rows))
    return items


def _sequence_item(it: Interpreter, value: Sequence, at: int, star: int | None, count: int, span: Span) -> Abstract:
    if at == star:
        return value
    position = at if star is None or at < star else at - count
    return rebuild(value.item, lambda leaf: subscripts.item(it, leaf, Const(position), span), it)


def delete(it: Interpreter, node: ast.Delete) -> Exit:
    """Interpret `del name`; deleting items leaves the container unknown."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            it.frame.env.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            _delete_item(it, target)
    return Exit.FALL


def _delete_item(it: Interpreter, target: ast.Subscript) -> None:
    base, index = it.evaluate(target.value), it.evaluate(target.slice)
    if isinstance(base, Ref):
        it.heap[base] = _without(it, it.heap[base], index, it.span(target))
    elif isinstance(target.value, ast.Name) and target.value.id in it.frame.env and isinstance(base, Leaf):
        name = target.value.id
        it.frame.env[name] = it.unknown("an item of it was deleted", it.span(target), name)


def _without(it: Interpreter, box: Box, index: Abstract, span: Span) -> Box:
    if isinstance(box, DictBox) and isinstance(index, Const) and index.value in box.entries:
        return DictBox({key: value for key, value in box.entries.items() if key != index.value}, box.rest)
    if not isinstance(box, ListBox | DictBox):
        return box
    left = it.unknown("an item of it was deleted", span)
    return OpaqueBox(left.value, "dict" if isinstance(box, DictBox) else box.kind)


HANDLERS = {ast.Assign: assign_statement, ast.AnnAssign: annotated, ast.AugAssign: augmented, ast.Delete: delete}
