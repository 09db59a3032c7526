"""The rule `half-renamed-copy`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.members import Copy
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Subject, proved, unknown


class HalfRenamedCopy(Rule):
    """A line is a copy of another one with a word changed in its names, and one name was left as it was.

    ## What it does
    Compares lines of one function that have the same form. Where one word makes the whole difference (`actor` there,
    `critic` here), every name that has the word should change with it. It reports a name that did not, where the
    function also has one with the other word.

    ## Why is this bad?
    Twins have equal shapes: the critic is trained with the actor's parameters, and nothing raises.

    ## Example
        actor_state = TrainState.create(apply_fn=actor.apply, params=actor_params, tx=tx)
        critic_state = TrainState.create(apply_fn=actor.apply, params=critic_params, tx=tx)

    ## Use instead
        critic_state = TrainState.create(apply_fn=critic.apply, params=critic_params, tx=tx)

    ## When it cannot tell
    Names are all that speaks for it, and both lines may well share a value, so it is a warning.
    """

    summary = "A copied line has a word changed in all its names but one."
    valid = (
        Example(
            "def losses(q1, q2, target, weights):\n    loss_q1 = jnp.mean(weights * (q1 - target) ** 2)\n"
            "    loss_q2 = jnp.mean(weights * (q2 - target) ** 2)\n    return loss_q1 + loss_q2\n",
            "changed throughout; what both share has another name",
        ),
        Example(
            "def errors(fast_w, fast_b, slow_w, x):\n    fast_out = jnp.tanh(fast_w @ x + fast_b)\n"
            "    slow_out = jnp.tanh(slow_w @ x + fast_b)\n    return fast_out - slow_out\n",
            "there is no other one",
        ),
    )
    invalid = (
        Example(
            "def predict(w1, b1, w2, b2, x1, x2):\n    y1 = jnp.tanh(w1 @ x1 + b1)\n"
            "    y2 = jnp.tanh(w2 @ x2 + b1)  #?\n    return y1 + y2 + b2\n",
            "the bias of the other layer",
        ),
        Example(
            "def normalise(self, obs, act):\n    obs = (obs - self.obs_mean) / (self.obs_std + 1e-6)\n"
            "    act = (act - self.act_mean) / (self.obs_std + 1e-6)  #?\n    return obs, act * self.act_std\n",
            "an attribute",
        ),
        Example(
            "def step(f, w1, w2, s1, s2, g1, g2):\n    w1, s1 = f(w1, g1, s1)\n"
            "    w2, s2 = f(w2, g2, s1)  #?\n    return w1, w2, s1, s2\n",
            "the state of the other one, where the own one is bound",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every line that is a copy of another one."""
        for copy in program.copies:
            if copy.kept:
                yield _finding(copy)
            elif copy.mixed:
                yield unknown(copy.span, f"this is like line {copy.first.line}, and names it still shares may be meant")
            else:
                changed = f"`{copy.now}` stands here for each `{copy.was}` of line {copy.first.line}"
                yield proved(copy.span, f"{changed} that has such a twin")


def _finding(copy: Copy) -> Obligation:
    like = f"line {copy.first.line} with `{copy.now}` for `{copy.was}`"
    return Obligation(
        copy.span,
        severity=Severity.WARNING,
        message=f"`{copy.kept}` is left from the line that this is a copy of, {like}",
        current=f"this is {like}, but for `{copy.kept}`",
        expected=f"it reads `{copy.meant}`, as its other names have changed",
        steps=(Step(copy.first, "the line that it is like"),),
        suggestion=f"write `{copy.meant}`, unless both are meant to share `{copy.kept}`",
        basis=Basis.SAID,
        subject=Subject(names=(copy.kept, copy.meant)),
    )
