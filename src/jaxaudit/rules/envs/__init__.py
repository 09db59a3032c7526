"""Rules about environments that run in parallel: steps, resets, statistics and advantages."""
