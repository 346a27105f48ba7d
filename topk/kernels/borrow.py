"""Arrays without reference counts, for loops that would spend most of their time on counting.

Compiled code counts the references to every array that it hands from function to function,
with an atomic instruction each time.  A loop that makes one pull a turn hands on a whole state
some ten times a turn, and the counting takes several times as long as the rest.  The caller of
such a loop holds on to the arrays anyway, so the loop may work on copies of their headers that
share the data and own nothing.
"""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload


def borrowed(value):
    """Return ``value``, an array or a tuple of such, without ownership of its arrays.

    The plain form returns ``value`` itself.  The result must not outlive the arguments of the
    function that calls this.
    """
    return value


@overload(borrowed, inline="always")
def _compiled_borrowed(value):
    return lambda value: without_owner(value)


@intrinsic
def without_owner(typing_context, value):
    """Copy the headers of all arrays in a value, and leave out who owns their data."""

    def code(context, builder, signature, arguments):
        return _disown(context, builder, signature.args[0], arguments[0])

    return value(value), code


def _disown(context, builder, kind, value):
    """Return the compiled value with no owner in any of its arrays."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, element in enumerate(kind):
            part = _disown(context, builder, element, builder.extract_value(value, i))
            value = builder.insert_value(value, part, i)
    return value
