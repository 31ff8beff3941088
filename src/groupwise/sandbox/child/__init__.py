"""What runs outside the trainer: started as a program of its own, it imports the standard library and itself only."""
