"""What the reward `judge` stands on: the server it asks, what it asks, and how the answer is read."""
