"""Initial states of NumPy's random generators, for many runs at once.

Creating a generator takes as long as a short run.  This module repeats the computation of
`numpy.random.SeedSequence` for arrays of runs (NumPy guarantees that it does not change), and
locates the memory of a generator.
"""

import ctypes

import numpy as np

TWO_32, TWO_64 = 2**32, 2**64
# constants of `numpy.random.SeedSequence`, under numpy's names
INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_MULT_L, MIX_MULT_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
PCG_MULT = 0x2360ED051FC65DA44385DF649FCCF645  # PCG64's multiplier
POINTER_BYTES, STATE_BYTES = ctypes.sizeof(ctypes.c_void_p), 32


class FixedWords(np.random.bit_generator.ISeedSequence):
    """A seed sequence with precomputed words."""

    def __init__(self, words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint32):
        return self.words


def generators(seed, *key):
    """Return many generators, each equal to one of `topk.engine.streams.stream`.

    Parameters
    ----------
    seed : int
        Seed of the study.
    key : int, range or ndarray of int, shape (m,)
        The spawn keys, component by component: the number of the run, below 2**32; the purpose of
        the stream; and any further numbers that distinguish the m streams.

    Returns
    -------
    list of numpy.random.Generator, length m
        The generators.
    """
    seeds = map(FixedWords, seed_words(seed, *key))
    return [np.random.Generator(np.random.PCG64(each)) for each in seeds]


def generator_states(seed, *key):
    """Return the `generator_state` of what `generators` returns, in a tenth of the time.

    Returns
    -------
    ndarray of uint64, shape (m, 4)

    Notes
    -----
    The plain form is ``[generator_state(rng) for rng in generators(seed, *key)]``.  A PCG64
    generator takes from its seed a number and the increment, which is made odd; its state is what
    one step makes of the sum of the two.
    """
    first, second, third, fourth = seed_words(seed, *key).astype(object).T
    increment = (((third << 64 | fourth) << 1) | 1) % TWO_64**2
    state = (((first << 64 | second) + increment) * PCG_MULT + increment) % TWO_64**2
    halves = state % TWO_64, state // TWO_64, increment % TWO_64, increment // TWO_64
    return np.array(halves, dtype=np.uint64).T.copy()


def seed_words(seed, *key):
    """Return the words that `generators` are seeded with, as uint64, shape (m, 4)."""
    mixed_before = 4 * max(4, -(-seed.bit_length() // 32))  # 4 words of a pool each
    constant = INIT_A * pow(MULT_A, mixed_before, TWO_32) % TWO_32
    keys = np.broadcast_arrays(*(np.asarray(part, dtype=np.uint32) for part in key))
    pool = [np.full(keys[0].size, word) for word in np.random.SeedSequence(seed).pool]
    for part in keys:
        for i in range(4):
            mixed, constant = _hashed(part, constant, MULT_A)
            mixed = MIX_MULT_L * pool[i] - MIX_MULT_R * mixed
            pool[i] = mixed ^ mixed >> 16
    words, constant = [], INIT_B
    for i in range(8):
        out, constant = _hashed(pool[i % 4], constant, MULT_B)
        words.append(out.astype(np.uint64))
    return (np.array(words[::2]) | np.array(words[1::2]) << 32).T.copy()


def _hashed(values, constant, factor):
    """Return hashed words, and the constant for the next words."""
    after = constant * factor % TWO_32
    values = (values ^ np.uint32(constant)) * np.uint32(after)
    return values ^ values >> 16, after


def generator_state(rng):
    """Return a generator's state and increment as 64-bit halves."""
    numbers = rng.bit_generator.state["state"].values()
    return [half for number in numbers for half in (number % TWO_64, number // TWO_64)]


def generator_memory(rng):
    """Return the memory with a generator's `generator_state`; None if it cannot be located.

    NumPy hands out the address of a C structure that begins with a pointer to the state; both are
    parts of the bit generator, whose address `id` is in CPython.  Memory is read only if it lies
    inside of that object: where NumPy stores it in another way, what is taken for the pointer is
    some number, which does not.
    """
    bits = rng.bit_generator
    begin, end = id(bits), id(bits) + type(bits).__basicsize__
    address = bits.ctypes.state_address
    if not begin <= address <= end - POINTER_BYTES:
        return None
    place = ctypes.c_void_p.from_address(address).value or 0
    if not begin <= place <= end - STATE_BYTES:
        return None
    memory = np.frombuffer((ctypes.c_uint64 * 4).from_address(place), np.uint64)
    return memory if memory.tolist() == generator_state(rng) else None
