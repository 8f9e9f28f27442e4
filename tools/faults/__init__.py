"""Mutation testing by hand-picked faults: plants them one at a time and tells which test finds each."""
