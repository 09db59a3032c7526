"""Real bugs that public projects made and fixed, and what the audit says of them."""
