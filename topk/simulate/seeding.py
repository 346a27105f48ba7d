"""Where numpy's random streams begin, for many plays at once.

A new generator takes as long as a short play.  Here is what `numpy.random.SeedSequence` does with a
seed, for arrays of plays (numpy promises that it stays), and where a generator's memory is.
"""

import ctypes

import numpy as np

WORD, HALF = 2**32, 2**64
FIRST, FACTOR = 0x43B0D7E5, 0x931E8875  # numpy's INIT_A and MULT_A
FIRST_OUT, FACTOR_OUT = 0x8B51F9DD, 0x58F38DED  # INIT_B and MULT_B
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)  # MIX_MULT_L and MIX_MULT_R


class Words(np.random.bit_generator.ISeedSequence):
    """A seed of which a generator's words are known."""

    def __init__(self, words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint32):
        return self.words


def generators(seed, numbers, purpose):
    """Return the generators of some plays, as `topk.engine.streams.stream` does of one.

    Parameters
    ----------
    seed : int
    numbers : range
        Which plays, below 2**32.
    purpose : int
        What the streams are for.

    Returns
    -------
    list of numpy.random.Generator
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
        found.append(out.astype(np.uint64))
    words = np.array(found[::2]) | np.array(found[1::2]) << 32
    return [np.random.Generator(np.random.PCG64(Words(each))) for each in words.T.copy()]


def _hashed(values, constant, factor):
    """Return hashed words, and the constant for the next ones."""
    after = constant * factor % WORD
    values = (values ^ np.uint32(constant)) * np.uint32(after)
    return values ^ values >> 16, after


def content(rng):
    """Return what decides a generator's numbers of 64 bits: its state and increment, in halves."""
    numbers = rng.bit_generator.state["state"].values()
    return [half for number in numbers for half in (number % HALF, number // HALF)]


def memory_of(rng):
    """Return the memory in which a generator keeps its `content`; None if that is elsewhere."""
    address = rng.bit_generator.ctypes.state_address
    place = ctypes.c_void_p.from_address(address).value
    memory = np.frombuffer((ctypes.c_uint64 * 4).from_address(place), np.uint64)
    return memory if memory.tolist() == content(rng) else None
