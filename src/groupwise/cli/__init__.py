"""The command: parsing and printing, no logic."""
