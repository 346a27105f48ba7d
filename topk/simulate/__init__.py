"""Simulation: single runs, replications, comparisons and experiments."""
