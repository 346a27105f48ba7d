"""What plays a rule: two shapes of strategy, what has been counted, and searches for winners."""
