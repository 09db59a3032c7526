"""Rules about where data goes: results dropped, old versions carried on, arguments ignored or swapped."""
