"""Doors into other packages, each a file that needs its package: see the page *Command line*."""
