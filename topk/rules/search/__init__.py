"""Searches for the arms at risk: scans of all arms, and kinetic tournaments."""
