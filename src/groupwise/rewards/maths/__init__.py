"""What `math_answer` stands on: reading a mathematical answer, and whether two are the same."""
