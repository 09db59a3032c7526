"""Rules about derivatives: what may be differentiated, and what reaches the parameters."""
