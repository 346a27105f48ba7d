"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    # the instances differ
    ("common", '"unif", k), 3, seed', '"unif", k), 3, seed + k'),
    # SAR's last phase has one arm, not two
    ("load", "(q - n) / (2 * log_bar)", "(q - n) / log_bar"),
    ("load", "log_bar = 0.5", "log_bar = 1.0"),
    # with nothing changed the readings are not the library's rules
    ("readings", "if s.ties == 0 or above", "if s.ties == 1 or above"),
    ("readings", "3 * (1 - s.down)", "2 * (1 - s.down)"),
    ("readings", "(rest, rest / size, 0.0)", "(0.0, rest / size, rest)"),
    ("readings", "[s.n - s.k]\n", "[s.n - s.k - 5]\n"),
    # the lot is not drawn among all arms with the largest gap
    ("readings", "if j < first + wanted:", "if j < first + 1:"),
    ("readings", "return s.ties == 1", "return s.ties == 2"),
]
