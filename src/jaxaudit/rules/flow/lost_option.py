"""The rule `lost-option`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.fits import Option
from jaxaudit.ir.members import Settings
from jaxaudit.rules.base import Obligation, Rule, Severity, Subject, proved, unknown
from jaxaudit.spans import Span


class LostOption(Rule):
    """An argument has no effect: a constructor keeps it unread, a copy leaves it out, or `**` takes it for nothing.

    ## What it does
    Looks at the arguments that constructors keep. Finds those that are kept under a private name that nothing in sight
    reads, and methods that make another object of their class from the parts of their own but leave one part out.
    Looks too at keywords that no parameter has and `**` takes: the function must read them or hand them on; and at
    settings, which are the keys of a dict, the fields of a record with plain defaults and the options of a command
    line: each must be read by name somewhere.

    ## Why is this bad?
    Whoever sets the option believes that it does something; and the copy silently falls back to the default.

    ## Example
        class Dataset:
            def __init__(self, rows, length, pad=-1):
                self.rows, self.length = rows, length
                self.pad = pad

            def shard(self):
                return Dataset(self.rows, self.length)

    ## Use instead
            def shard(self):
                return Dataset(self.rows, self.length, self.pad)

    ## When it cannot tell
    Code out of sight may read even a private name, and a copy may be meant to start afresh, so this is a warning.
    """

    summary = "An argument has no effect: it is kept unread, left out of a copy, or taken by `**` for nothing."
    valid = """
    ## kept and read, copied whole
    class Dataset:
        def __init__(self, rows, length, pad=-1):
            self._rows = rows
            self._length = length
            self._pad = pad

        def shard(self):
            return Dataset(self._rows, self._length, pad=self._pad)

        def first(self):
            return self._rows[: self._length] + self._pad

    ## each setting is read
    config = {"LR": 0.1, "STEPS": 4, "ENVS": 2, "CLIP": 0.2}

    def train(config):
        return config["LR"] * config["STEPS"] * config["ENVS"] * config.get("CLIP", 0.1)

    if __name__ == "__main__":
        train(config)

    ## handed on as a whole
    options = {"b1": 0.9, "b2": 0.95, "eps": 1e-8, "nesterov": True}

    def make(factory):
        return factory(**options)

    ## read by name, or handed on
    def scale(x, factor=1.0):
        return x * factor

    def apply(x, **options):
        return x * options.get("factor", 1.0)

    def wrap(x, **options):
        return scale(x, **options)

    def run(x):
        return apply(x, factor=2.0) + wrap(x, factor=2.0)
    """
    invalid = """
    ## never read
    class Kernel:
        def __init__(self, model, strategy=None):
            self._model = model
            self._strategy = strategy  #?

        def run(self, key):
            return self._model(key)

    ## left out of the copy
    class Dataset:
        def __init__(self, rows, length, pad=-1):
            self.rows = rows
            self.length = length
            self.pad = pad

        def shard(self):
            return Dataset(self.rows, self.length)  #?

    ## another spelling
    def apply(x, **options):
        return x * options.get("factor", 1.0)

    def run(x):
        return apply(x, facter=2.0)  #?

    ## a setting that nothing reads
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Config:
        rate: float = 0.1
        steps: int = 4
        anneal: bool = True  #?

    def train(config):
        return config.rate * config.steps

    if __name__ == "__main__":
        train(Config())

    ## a key and an option that nothing reads
    import argparse

    config = {"LR": 0.1, "STEPS": 4, "ENVS": 2, "ANNEAL": True}  #?

    def train(config, args):
        return config["LR"] * config["STEPS"] * config["ENVS"] * args.width * args.depth

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--width", type=int, default=8)
        parser.add_argument("--depth", type=int, default=8)
        parser.add_argument("--dropout-rate", type=float, default=0.1)  #?
        train(config, parser.parse_args())

    ## not handed on
    def scale(x, factor=1.0):
        return x * factor

    def wrap(x, **options):
        return scale(x)

    def run(x):
        return wrap(x, factor=2.0)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List what constructors keep, what `**` takes, and every option that is lost."""
        for span, call in program.compared.items():
            yield from (_taken(span, call.callee, one) for one in call.options)
        for settings in program.settings:
            yield from _settings(settings)
        for cls in (one for one in program.members if one.kept):
            if cls.open:
                yield unknown(cls.span, f"not all that reads `{cls.name}` is in sight: {cls.open}")
            elif not cls.unread and not cls.rebuilt and not cls.unsure:
                yield proved(cls.span, f"no argument of `{cls.name}` is kept unread or left out of a copy")
            for one in () if cls.open else cls.unsure:
                reason = f"whether `{one.name}` has an effect depends on who uses objects of `{cls.name}`"
                yield unknown(one.span, reason)
            for one in cls.unread:
                yield Obligation(
                    one.span,
                    severity=Severity.WARNING,
                    message=f"the argument `{one.name}` of `{cls.name}` has no effect: nothing reads it from here",
                    current=f"whatever is given for `{one.name}`, `{cls.name}` behaves the same",
                    expected="what is kept is used",
                    suggestion=f"use it where it was meant, or take `{one.name}` away",
                    subject=Subject(names=(one.name,)),
                )
            for left in cls.rebuilt:
                yield Obligation(
                    left.span,
                    severity=Severity.WARNING,
                    message=f"`{left.method}` makes another `{cls.name}` and leaves out `{left.name}`",
                    current=f"the new object has the default for `{left.name}`, whatever this one was made with",
                    expected="the new object is made with all that this one was made with",
                    suggestion=f"pass `{left.name}=self.{left.field}` on",
                    subject=Subject(names=(left.name,)),
                )


def _settings(settings: Settings) -> Iterator[Obligation]:
    """Judge what a program gives itself to go by."""
    if settings.open:
        yield unknown(
            settings.span, f"whether all settings of `{settings.name}` are read is not known: {settings.open}"
        )
        return
    if not settings.unread:
        yield proved(settings.span, f"each of the {settings.count} settings of `{settings.name}` is read")
    for one in settings.unread:
        yield Obligation(
            one.span,
            severity=Severity.WARNING,
            message=f"the setting `{one.name}` has no effect: nothing reads it",
            current=f"whatever `{one.name}` is set to, the program does the same",
            expected=f"it is read, as most settings of `{settings.name}` are",
            suggestion=f"read it where its value is written out or left to a default, or take `{one.name}` away",
            subject=Subject(names=(one.name,)),
        )


def _taken(span: Span, callee: str, one: Option) -> Obligation:
    """Judge a keyword that a function takes by `**` alone."""
    if one.read:
        return proved(span, f"`{callee}` reads `{one.name}` from what `**` takes")
    if not one.others and not one.meant_for:
        return unknown(span, f"`{callee}` takes `{one.name}` by `**` and reads nothing of that: it may not be wanted")
    to = f" or hands it to `{one.meant_for}`" if one.meant_for else ""
    known = ", ".join(f"`{name}`" for name in one.others)
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=f"`{callee}` takes `{one.name}` by `**`, and never reads it{to}",
        current=f"whatever is given for `{one.name}`, `{callee}` behaves the same",
        expected=f"`{callee}` hands it on" if one.meant_for else f"one of the options that `{callee}` reads: {known}",
        suggestion=f"hand it on to `{one.meant_for}`" if one.meant_for else "check how the option is spelled",
        subject=Subject(names=(one.name,)),
    )
