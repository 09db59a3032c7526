"""The report: one model, built from obligations, and one renderer for each format."""
