"""Hostile inputs: what nobody should pass, and what becomes of it."""
