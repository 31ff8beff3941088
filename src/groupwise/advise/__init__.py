"""Advice from what lies there: what a data set holds, which method fits it, how a run went."""
