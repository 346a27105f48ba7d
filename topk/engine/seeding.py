"""Where numpy's random streams begin, for many plays at once.

A new generator takes ten times as long as a short play.  Here is what `numpy.random.SeedSequence`
and `numpy.random.PCG64` do with a seed, for arrays of plays (numpy promises that it stays), and a
generator that is put where a stream begins by writing to its memory.
"""

import ctypes

import numpy as np

WORD, LONG, HALF = 2**32, 2**128, 2**64
FIRST, FACTOR = 0x43B0D7E5, 0x931E8875  # numpy's INIT_A and MULT_A
FIRST_OUT, FACTOR_OUT = 0x8B51F9DD, 0x58F38DED  # INIT_B and MULT_B
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)  # MIX_MULT_L and MIX_MULT_R
STEP = 0x2360ED051FC65DA44385DF649FCCF645  # PCG64's multiplier


def beginnings(seed, numbers, purpose):
    """Return where the streams of some plays begin.

    Parameters
    ----------
    seed : int
    numbers : range
        Which plays, below 2**32.
    purpose : int
        What the streams are for.

    Returns
    -------
    ndarray of uint64, shape (len(numbers), 4)
        State and increment of each ``PCG64(SeedSequence(seed, spawn_key=(play, purpose)))``,
        the lower half of each first.
    """
    mixed_before = 4 * max(4, -(-seed.bit_length() // 32))  # words of the seed, into four of a pool
    constant = FIRST * pow(FACTOR, mixed_before, WORD) % WORD
    pool = [np.full(len(numbers), word) for word in np.random.SeedSequence(seed).pool]
    for key in np.array(numbers, dtype=np.uint32), np.array([purpose], dtype=np.uint32):
        for place in range(4):
            mixed, constant = _hashed(key, constant, FACTOR)
            mixed = LEFT * pool[place] - RIGHT * mixed
            pool[place] = mixed ^ mixed >> 16
    found, constant = [], FIRST_OUT
    for place in range(8):
        out, constant = _hashed(pool[place % 4], constant, FACTOR_OUT)
        found.append(out)
    rows = [_started(*words) for words in zip(*(out.tolist() for out in found), strict=True)]
    return np.array(rows, dtype=np.uint64).reshape(-1, 4)


def _hashed(values, constant, factor):
    """Return hashed words, and the constant for the next ones."""
    after = constant * factor % WORD
    values = (values ^ np.uint32(constant)) * np.uint32(after)
    return values ^ values >> 16, after


def _started(b, a, d, c, f, e, h, g):
    """Return state and increment, in halves, that PCG64 makes of eight words of 32 bits."""
    step = ((e << 96 | f << 64 | g << 32 | h) << 1 | 1) % LONG
    state = (((a << 96 | b << 64 | c << 32 | d) + step) * STEP + step) % LONG
    return state % HALF, state // HALF, step % HALF, step // HALF


class Rewinding:
    """A generator that is put where a stream begins by writing to ``bits`` and ``kept``.

    Parameters
    ----------
    rng : numpy.random.Generator, optional
        With the bit generator PCG64; a new one unless given.

    Attributes
    ----------
    rng : numpy.random.Generator
    bits : ndarray of uint64, shape (4,)
        The memory in which it keeps what `beginnings` returns.
    kept : ndarray of uint64, shape (1,)
        The memory for half a number that is left over; 0 at a beginning.
    known : bool
        Whether its memory looks as it does where the compiler has numbers of 128 bits.
    """

    def __init__(self, rng=None):
        self.rng = rng if rng is not None else np.random.default_rng(0)
        address = self.rng.bit_generator.ctypes.state_address
        place = ctypes.c_void_p.from_address(address).value
        self.bits = np.frombuffer((ctypes.c_uint64 * 4).from_address(place), np.uint64)
        self.kept = np.frombuffer((ctypes.c_uint64 * 1).from_address(address + 8), np.uint64)
        state = self.rng.bit_generator.state["state"].values()
        halves = [half for number in state for half in (number % HALF, number // HALF)]
        self.known = self.bits.tolist() == halves
