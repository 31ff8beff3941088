"""Where scored groups come from. The loop cannot tell the sources apart."""
