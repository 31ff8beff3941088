"""The run directory: written by training, read by everything that shows or goes on with a run. No torch in here."""
