"""Samplers: what writes candidate completions."""
