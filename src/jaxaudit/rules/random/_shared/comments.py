"""What a comment must say to make shared random numbers deliberate: the purpose, not merely the fact."""

from __future__ import annotations

import re

_PURPOSE = re.compile(
    r"on purpose|deliberate|intentional|common random|\bcrn\b|antithetic|\bpaired\b|\bpegasus\b", re.IGNORECASE
)
"""Words that are a purpose in themselves."""
_STAND_IN = re.compile(r"\bdummy\b|placeholder|only (used )?for (the )?shapes?", re.IGNORECASE)
_SHARING = re.compile(r"(?<![-\w])(same|shared?|sharing|common|identical|re-?us(e|es|ed|ing)|fixed)\b", re.IGNORECASE)
_RANDOM = re.compile(
    r"\b(keys?|rngs?|prng|seeds?|noise|random\w*|draws?|samples?|numbers|masks?|init\w*)\b", re.IGNORECASE
)
_REASON = re.compile(
    r"so that|so (we|both|they|all|each)\b|in order to|\bto (keep|make|ensure|match|compare|pair|align|cancel|reduce)\b"
    r"|\bto (start|have|get)\b|mutually exclusive|because|\bsince\b|\bensur|\bfair|\bwant|variance|start alike"
    r"|comparable|reproducib",
    re.IGNORECASE,
)
_REGRET = re.compile(
    r"\bbugs?\b|wrong|mistake|fix ?me|\btodo\b|\bxxx\b|\bhack\b|should(n't| not)? (be |have |use |get )?(split|differ)"
    r"|should (be |have |use |get )?(new|fresh|independent|another|its own)"
    r"|must not|do not|don't|never|accident|forg[eo]t|oops|not independent|correlat",
    re.IGNORECASE,
)
"""Words of somebody who tells of a mistake."""
_DENIED = re.compile(r"\b(not|un|never|isn't|wasn't)[ -]?(on purpose|deliberate|intentional)", re.IGNORECASE)


def states_purpose(comment: str) -> bool:
    """Whether a comment says that numbers are shared, and what for."""
    if _REGRET.search(comment) and not _PURPOSE.search(comment):
        return False
    if _PURPOSE.search(comment):
        return not re.search(
            r"\b(not|un|never|isn't|wasn't)[ -]?(on purpose|deliberate|intentional)", comment, re.IGNORECASE
        )
    if not _RANDOM.search(comment):
        return False
    return bool(_STAND_IN.search(comment) or (_SHARING.search(comment) and _REASON.search(comment)))
