"""The training loop and what it needs: annotation, optimizer, checkpoints, ranks."""
