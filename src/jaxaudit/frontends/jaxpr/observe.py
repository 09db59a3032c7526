"""Watches a real run: which functions are transformed, with what they are first called, and why they are traced again.

The function inside `jax.jit` is wrapped: its Python body runs only when JAX traces it. Around the compiled function are
no more than a counter and, ever more seldom, a look at what it reads. Programs are read from JAX's own tracing cache
while the first call is being compiled, or after the script has ended; user code is never run a second time before that.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType, FunctionType
from typing import Any

from jaxaudit.frontends.jaxpr import arguments, captured
from jaxaudit.frontends.jaxpr.compiled import DEPTH, Compiled
from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.later import Later
from jaxaudit.frontends.jaxpr.narrowed import Narrowed
from jaxaudit.frontends.jaxpr.places import call_at, caller, is_user_file
from jaxaudit.frontends.jaxpr.protocol import Frame, LateCall, Retrace
from jaxaudit.frontends.jaxpr.quiet import muted
from jaxaudit.frontends.jaxpr.replay.kept import Kept
from jaxaudit.frontends.jaxpr.seen import Reads, Site, function_code, function_name, made_for_user
from jaxaudit.frontends.jaxpr.watching import Watch

_LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_MADE = ("vmap", "pmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "shard_map")
_CALLED = ("scan", "while_loop", "fori_loop", "cond", "switch", "map")
_TURNS = ("scan", "while_loop", "fori_loop", "map")
"""Those whose function is traced once for all turns, wherever they are called."""
_UNKNOWN_PLACE = Frame("", 0, 0, 0, 0, "", user=False)
_MOST_KEPT = 100
"""Signatures to remember for one site: enough to tell what changes, and no leak in a loop that never ends."""


_MOST_KNOWN = 10_000
"""Calls whose site is remembered by their instruction; code that is made anew in every turn must not fill memory."""


class _Miss(BaseException):
    """JAX would run the user's function again."""


class Observer:
    """Holds what was seen; `install` starts to look, `captured` ends it."""

    def __init__(self, steps: int = 0, where: str = "", room: int = 0) -> None:
        self.sites: dict[object, Site] = {}
        self.retraces: list[Retrace] = []
        self._steps = steps
        self._known: dict[tuple[str, int, int, int], tuple[Site, object, object]] = {}
        """The site of each call that was met, by the identities of both codes, which are kept alive beside it."""
        self._replaying = False
        self._pending: list[Site] = []
        self.watch = Watch(where)
        self.narrowed = Narrowed()
        self._kept = Kept(room, self.narrowed)
        self._looks = room > 0

    def install(self) -> None:
        """Patch JAX; it must have been imported just now, before anything of the user's."""
        jax = the_jax()
        jax.jit = self._jit(jax.jit)
        for name in _MADE:
            if hasattr(jax, name):
                setattr(jax, name, self._maker(name, getattr(jax, name)))
        jax.jacobian = jax.jacrev
        for name in _CALLED:
            setattr(jax.lax, name, self._called(name, getattr(jax.lax, name)))
        if self._looks:
            self.narrowed.install()
        jax.monitoring.register_event_duration_secs_listener(self._event)
        self.watch.start()

    def captured(self) -> list[Site]:
        """Read the programs that were not read on the way, and give every site that was called."""
        self.watch.stop()
        for site in self.sites.values():
            if site.closed is None and site.replay is not None:
                self._read(site, again=True)
        return [site for site in self.sites.values() if site.call is not None]

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        before = DEPTH.set(DEPTH.get() + 1)
        try:
            yield
        finally:
            DEPTH.reset(before)

    def _site(self, transform: str, fun: object, frame: FrameType) -> Site | None:
        """Return the site of a transformation that a frame asks for; None where that is a library's own affair.

        Where the user's code asks by itself, the instruction decides: the second time no frame is walked.
        """
        code, asks = function_code(fun), frame.f_code
        at = (transform, id(code), id(asks), frame.f_lasti)
        known = self._known.get(at)
        if known is None:
            if not made_for_user(frame):
                return None
            known = (self._found(transform, fun, code), code, asks)
            if is_user_file(asks.co_filename) and len(self._known) < _MOST_KNOWN:
                self._known[at] = known
        known[0].objects += 1
        return known[0]

    def _found(self, transform: str, fun: object, code: object) -> Site:
        made = caller() or _UNKNOWN_PLACE
        key = (transform, code, made.path, made.line)
        site = self.sites.get(key)
        if site is None:
            site = self.sites[key] = Site(function_name(fun), transform, made)
            self.watch.rouse()
        return site

    def _jit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def jit(*given: Any, **options: Any) -> Any:
            if not given and "fun" not in options:
                return functools.partial(jit, **options)
            fun, *rest = given or (options.pop("fun"),)
            site = self._site("jit", fun, sys._getframe(1)) if callable(fun) else None
            if site is None:
                return original(fun, *rest, **options)
            return self._jitted(site, original, fun, rest, options)

        return jit

    def _jitted(
        self,
        site: Site,
        original: Callable[..., Any],
        fun: Callable[..., Any],
        rest: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Any:
        first, donated = [True], any(name.startswith("donate") for name in options)

        def probe(*args: Any, **kwargs: Any) -> Any:
            if self._replaying:
                raise _Miss
            outermost = not DEPTH.get()
            if outermost:
                self.watch.rouse()
            began = time.monotonic()
            with self._inside():
                result = fun(*args, **kwargs)
            if outermost:
                self._traced(site, fun, args, kwargs, jitted, new=first[0], donated=donated)
                site.seconds = site.seconds or time.monotonic() - began
                first[0] = False
            return result

        jitted = original(functools.update_wrapper(probe, fun), *rest, **options)
        if not self._steps and not self._looks:
            return jitted
        return Compiled(jitted, self._steps, functools.partial(self._look, site, jitted))

    def _traced(
        self,
        site: Site,
        fun: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        jitted: Any,
        *,
        new: bool,
        donated: bool,
    ) -> None:
        """Note a trace: the first one to be read, each further one with its cause."""
        # A fault of ours must not end the user's script: what could not be noted is missing from the report.
        with contextlib.suppress(Exception):
            seen = arguments.signature(fun, args, kwargs)
            call = caller()
            if site.signatures:
                self._again(site, seen, call, new=new)
            else:
                site.names = _names_in_wrapper(fun, args)
                found = self._kept.traced(site.name, args, kwargs)
                if found is not None:
                    site.given, site.later = found[0], Later(found[1], donated)
                args, kwargs = arguments.abstract((tuple(args), dict(kwargs)))
                site.call = call or _UNKNOWN_PLACE
                site.replay = lambda: jitted.trace(*args, **kwargs).jaxpr
                site.anew = lambda: self._anew(fun, args, kwargs)
                site.reads = self._reads(jitted, fun, args, kwargs)
                self._pending.append(site)
            if len(site.signatures) < _MOST_KEPT:
                site.signatures.append(seen)

    def _reads(self, jitted: Any, fun: Any, args: Any, kwargs: Any) -> Reads | None:
        """Note what a function reads besides its arguments, while it is traced."""
        static = [one for one in the_jax().tree_util.tree_leaves((args, kwargs)) if callable(one)]

        def look() -> captured.State:
            return captured.state_of(fun, static)

        return Reads(jitted, look, look()) if self._looks else None

    def _look(
        self, site: Site, jitted: Any, call: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[Any], None] | None:
        """Compare what a function reads with what it was compiled with; it counts if the call is not traced."""
        reads, later, traces = site.reads, site.later, len(site.signatures)
        if reads is None or reads.jitted is not jitted:
            return None
        names: list[str] = []
        with contextlib.suppress(Exception):
            names = captured.changed(reads.compiled, reads.look())
        late = LateCall(call, tuple(names), caller()) if names else None
        with contextlib.suppress(Exception):
            if later is not None:
                later.see(self._kept, call, args, kwargs)

        def used(result: Any) -> None:
            if late is not None and len(site.signatures) == traces:
                reads.late = late if reads.late is None else replace(reads.late, names=late.names)
            with contextlib.suppress(Exception):
                if later is not None:
                    later.gave(result)

        return used

    def _anew(self, fun: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Trace a function with arguments of these types as if JAX had never seen it."""
        jax = the_jax()
        types, rebuild = arguments.split_arrays((args, kwargs), jax.ShapeDtypeStruct)

        def fresh(*arrays: Any) -> Any:
            given, named = rebuild(arrays)
            return fun(*given, **named)

        with self._inside():
            return jax.make_jaxpr(fresh)(*types)

    def _again(self, site: Site, seen: arguments.Signature, call: Frame | None, *, new: bool) -> None:
        # Which of several compiled programs a call uses is not known.
        site.reads = site.later = None
        kind, detail = arguments.difference(site.signatures[-1], seen)
        if new and kind == "context":
            kind, detail = "new function", f"`{site.name}` is transformed anew, {site.objects} times so far"
        self.retraces.append(Retrace(site.name, site.made.path, site.made.line, call, kind, detail))

    def _event(self, event: str, duration: float, **details: Any) -> None:
        """Read the programs of the functions that are being compiled, while their context still holds."""
        if event != _LOWERED or self._replaying:
            return
        self.watch.rouse()
        if DEPTH.get():
            return
        while self._pending:
            self._read(self._pending.pop(0), again=False)

    def _read(self, site: Site, *, again: bool) -> None:
        """Get the jaxpr of a site: from JAX's cache, or with `again` by tracing its function once more."""
        assert site.replay is not None
        self._replaying = not again
        try:
            with self._inside(), muted() if again else contextlib.nullcontext():
                site.closed = site.replay()
            if site.reads is not None:
                site.reads.constants = self._kept.keep(site.closed.consts)
        except _Miss:
            pass
        except Exception as error:  # noqa: BLE001
            first = (str(error).splitlines() or [""])[0]
            site.skipped = f"it could not be traced once more: {type(error).__name__}: {first}"[:300]
        finally:
            self._replaying = False

    def _maker(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Watch a transformation that gives a function: `jax.vmap(f)`."""

        @functools.wraps(original)
        def make(*given: Any, **options: Any) -> Any:
            if not given and not {"fun", "f"} & options.keys():
                return functools.partial(make, **options)
            fun = given[0] if given else options.get("fun", options.get("f"))
            made = original(*given, **options)
            if DEPTH.get() or not callable(made):
                return made
            site = self._site(name, fun, sys._getframe(1))
            return made if site is None else self._watched(site, made, fun)

        return make

    def _watched(self, site: Site, made: Callable[..., Any], fun: Any) -> Callable[..., Any]:
        """Keep what the first call of a transformed function can be read from later."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if site.call is None and not DEPTH.get():
                self._keep(site, made, fun, args, kwargs)
            before = DEPTH.set(DEPTH.get() + 1)
            try:
                return made(*args, **kwargs)
            finally:
                DEPTH.reset(before)

        return functools.update_wrapper(call, made)

    def _called(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Watch a transformation that runs at once: `jax.lax.scan(f, init, xs)`."""

        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            if DEPTH.get():
                return original(*args, **kwargs)
            bodies = [one for one in (*args, *kwargs.values()) if callable(one)]
            site = self._site(name, bodies[-1] if bodies else original, sys._getframe(1))
            if site is None:
                return original(*args, **kwargs)
            if site.call is None:
                self._keep(site, original, original, args, kwargs)
            before = DEPTH.set(DEPTH.get() + 1)
            try:
                return original(*args, **kwargs)
            finally:
                DEPTH.reset(before)

        return run

    def _keep(self, site: Site, made: Callable[..., Any], fun: Any, args: Any, kwargs: Any) -> None:
        """Keep what the program of a call outside `jit` can be read from later."""
        if not self._replaying:
            with contextlib.suppress(Exception):
                self._note_call(site, made, fun, args, kwargs)

    def _note_call(self, site: Site, made: Callable[..., Any], fun: Any, args: Any, kwargs: Any) -> None:
        jax = the_jax()
        leaves = jax.tree_util.tree_leaves((args, kwargs))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return
        types, rebuild = arguments.split_arrays((args, kwargs))
        site.names = _leaf_names(fun, args, kwargs)
        site.given = self._kept.keep([leaf for leaf in leaves if arguments.is_array(leaf)])

        def again(*arrays: Any, unseen: bool = False) -> Any:
            given, named = rebuild(arrays)
            if unseen:
                given, named = jax.tree_util.tree_map(_another, (given, named))
            return made(*given, **named)

        # JAX names the place of a function by what is wrapped innermost.
        again.__wrapped__ = fun  # type: ignore[attr-defined]
        place = site.call = caller() or _UNKNOWN_PLACE
        site.replay = lambda: call_at(place, lambda: jax.make_jaxpr(again)(*types))
        if site.transform in _TURNS:
            site.anew = lambda: self._unseen(again, types)

    def _unseen(self, again: Callable[..., Any], types: Sequence[Any]) -> Any:
        """Trace a loop with functions that JAX has not met."""

        def fresh(*arrays: Any) -> Any:
            return again(*arrays, unseen=True)

        with self._inside():
            return the_jax().make_jaxpr(fresh)(*types)


def _another(leaf: Any) -> Any:
    """Return a function that does what one does, and that JAX has not met."""
    if not isinstance(leaf, FunctionType):
        return leaf

    @functools.wraps(leaf)
    def same(*args: Any, **kwargs: Any) -> Any:
        return leaf(*args, **kwargs)

    return same


def _names_in_wrapper(fun: Any, args: Sequence[Any]) -> tuple[str, ...]:
    # Importing it imports jax, which must not happen before the user's program does.
    from jaxaudit.frontends.jaxpr.wrappers import leaf_names

    try:
        return leaf_names(fun, args)
    except Exception:  # noqa: BLE001
        return ()


def _leaf_names(fun: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    jax = the_jax()
    return tuple(
        name + jax.tree_util.keystr(path)
        for name, value in arguments.named(fun, args, kwargs).items()
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]
        if arguments.is_array(leaf)
    )
