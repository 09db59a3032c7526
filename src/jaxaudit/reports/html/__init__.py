"""The report as one HTML file that works from disk: a built page (source in `web/`) and the report's data."""
