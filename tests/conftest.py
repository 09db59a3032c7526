"""What holds for all tests: how long one takes is not what they are about, and no test reads what another kept."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

os.environ["JAXAUDIT_CACHE_DIR"] = ""
