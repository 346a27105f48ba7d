"""Marks that say how a function is compiled, put where it is defined; see `topk.engine.jit`."""


def allocates(function):
    """Mark a function that makes arrays; compiled, it counts references."""
    function.allocates = True
    return function


def apart(function):
    """Mark a function with a loop that is optimised only if it is not inlined."""
    function.apart = True
    return function


def in_loops(form):
    """Mark a function that works on whole arrays with NumPy and has a second form for the compiler.

    Both forms agree bit for bit.  Plain Python uses the marked function, which is many times faster
    there if there are many arms; compiled code uses ``form``, with its plain loops.

    Parameters
    ----------
    form : function
        The second form, with the same parameters.
    """

    def mark(function):
        function.compiled_form = form
        return function

    return mark
