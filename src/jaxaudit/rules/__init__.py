"""Rules: each lists every obligation of its kind in a program and gives each one a verdict."""
