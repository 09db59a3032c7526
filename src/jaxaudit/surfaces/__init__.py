"""Doors to the outside: each turns a request into a call of the session and a report into an answer."""
