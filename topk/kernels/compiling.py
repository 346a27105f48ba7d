"""How functions are compiled: which may make arrays, and which never do.

Compiled code counts the references to every array that it hands from function to function,
with an atomic instruction each time.  A loop that makes one pull a turn hands on a whole state
some ten times a turn, and the counting takes several times as long as the rest.  A function
that makes no array and keeps none has nothing to count: its caller holds on to them.  What
Python calls in a loop should be a `maker`, which also gives back a generator that it was lent.
"""

from numba import njit

# neither makes nor receives a new array
kernel = njit(cache=True, nogil=True, _nrt=False)
# may make arrays; counts references
maker = njit(cache=True, nogil=True, _nrt=True)
# as the function that it becomes part of
inlined = njit(cache=True, nogil=True, inline="always")
