"""Running a rule: the state of a run, its compiled loop, its random streams."""
