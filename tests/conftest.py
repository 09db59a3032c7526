"""What holds for all tests: how long one takes is not what they are about, and no test reads what another kept."""

import os

from hypothesis import HealthCheck, settings

# The same examples in every run: a change that breaks a law is told from one that did not by what it changed.
# `HYPOTHESIS_PROFILE=thorough` looks for new ones.
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("steady"), derandomize=False, max_examples=4000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

os.environ["JAXAUDIT_CACHE_DIR"] = ""
