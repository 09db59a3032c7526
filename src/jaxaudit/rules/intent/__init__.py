"""The one policy on intent: what may be meant lowers a verdict, after the rules have judged and in no other place.

`policy.SIGNALS` lists every sign of purpose with where it is read from and how far it lowers which rules. Rules judge
what the code does; they attach what a sign is looked for in (`Obligation.subject`) and what they rest on
(`Obligation.basis`), and read neither names, nor comments, nor paths.
"""

from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.intent.policy import lowered

__all__ = ["is_unwanted", "lowered"]
