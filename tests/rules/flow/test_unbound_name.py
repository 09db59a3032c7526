"""What `unbound-name` finds in programs, and what it leaves alone."""

import re
import textwrap

import pytest
from rules.programs import audited, marked, said

PROGRAMS = {
    "a module that was not read may bind by `import *` what is bound again later": """
        from dolfin import *

        for cell in cells(mesh):
            print(cell.index())
        cells = [3]
        """,
    "a module that binds it only later": """
        for cell in cells(3):  #! unbound-name
            print(cell.index())
        cells = [3]
        """,
    "type parameters, of a class, its bases, its methods and a function": """
        class Base:
            pass

        class Box[T](dict[str, T]):
            def get_as(self, x):
                return first(T, x)

        def first[S](kind, x: S) -> S:
            y: S = x
            return y
        """,
    "what each turn asks for may say that it is the first": """
        def work(queue, steps):
            for _ in range(steps):
                task = queue.get()
                if task:
                    params = task.params
                print(params)

        def counted(queue, steps, fresh):
            for _ in range(steps):
                if fresh:
                    params = queue.get()
                print(params)  #! unbound-name
        """,
    "types that get a name are evaluated when somebody asks": """
        type Pair[T] = tuple[T, Later]

        def f(x):
            return x

        class Later:
            pass
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


OPEN = {
    "bound later under a condition": """
        def f(x, flag):
            def inner():
                return y
            if flag:
                y = x
            return inner()
        """,
    "used before it is bound": """
        def f(x):
            def inner():
                return y
            first = inner()
            y = x
            return first + y
        """,
    "used by another function before it is bound": """
        def f(x):
            def inner():
                return y
            def outer():
                return inner()
            first = outer()
            y = x
            return first + y
        """,
    "a lambda is made before it is bound": """
        def f(xs):
            first = jnp.vectorize(lambda x: x + y)(xs)
            y = 3
            return first + y
        """,
    "a module binds it on one path": """
        if os.name == "nt":
            y = 3

        def f(x):
            return x + y
        """,
    "a module binds it later on one path": """
        def f(x):
            return x + y

        if os.name == "nt":
            y = 3
        """,
    "only another function binds it": """
        def begin():
            global y
            y = 1

        def f(x):
            return x + y
        """,
    "a failed import binds nothing": """
        try:
            import y
        except ImportError:
            pass

        def f(x):
            return y.run(x)
        """,
    "the context swallows what fails": """
        def f(table):
            with contextlib.suppress(KeyError):
                y = table["y"]
            return y
        """,
    "the condition need not come to it": """
        def f(x, table):
            if x and (y := table[x]):
                return x
            return y
        """,
    "a comprehension may have no item": """
        def f(xs):
            squares = [(y := x * x) for x in xs]
            return squares, y
        """,
    "only a notebook provides it": """
        def f(x):
            y = x + 1
            display(y)
            return y
        """,
}
PROVED = {
    "bound later, on every path": """
        def f(x, flag):
            def inner():
                return y
            if flag:
                y = x
            else:
                y = -x
            return inner()
        """,
    "functions that call one another": """
        def f(x):
            return g(x) if x else y

        def g(x):
            return f(x - 1)

        y = 3
        """,
    "a lambda that calls itself": """
        def f(x):
            depth = lambda x: 0 if x is None else 1 + depth(x.child)
            return depth(x)
        """,
    "each branch of an import binds it": """
        try:
            import y
        except ImportError:
            y = None

        def f(x):
            return x if y is None else y.run(x)
        """,
    "the condition came to it": """
        def f(x, table):
            if x is None or (y := table[x]) is None:
                return x
            return y
        """,
}
_MODULES = "import contextlib\nimport os\nimport jax.numpy as jnp\n"


def _lines(program: str) -> tuple[list[str], set[str]]:
    """Return the lines whose names are left open, and the scopes that are proved."""
    text = _MODULES + textwrap.dedent(program)
    report = audited(program, _MODULES)
    left = [one for one in report.unknown if one.rule == "unbound-name"]
    proofs = [one.reason for one in report.verified if one.rule == "unbound-name"]
    return [text.splitlines()[one.line - 1] for one in left], {one.split("`")[1] for one in proofs}


@pytest.mark.parametrize("program", OPEN.values(), ids=OPEN)
def test_a_name_that_may_have_no_value_is_left_open_where_it_is_read(program: str) -> None:
    left, proofs = _lines(program)
    assert [one for one in left if re.search(r"\by\b", one)]
    assert next(one for one in ("inner", "lambda", "f") if one in program) not in proofs


@pytest.mark.parametrize("program", PROVED.values(), ids=PROVED)
def test_a_name_that_every_path_binds_is_proved(program: str) -> None:
    left, proofs = _lines(program)
    assert left == []
    assert "f" in proofs


def test_the_scope_that_reads_is_the_one_that_is_judged() -> None:
    program = """
        def f(x):
            def inner():
                return missing(x)
            return inner()

        def missing(x):
            return x + later

        def g(x):
            def inner_too():
                return y
            if x:
                return inner_too()
            return 0
            y = 1

        later = 3
        """
    report = audited(program)
    proofs = {one.reason.split("`")[1] for one in report.verified if one.rule == "unbound-name"}
    assert {"f", "inner", "missing", "g"} <= proofs
    assert "inner_too" not in proofs
