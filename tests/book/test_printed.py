"""The program that reads published figures, on drawings with known data."""

import zlib

import pytest

from book import printed

COLOURS = "1 0 1 RG", "0 G", "0 1 0 RG", "1 0 0 RG", "0 0 1 RG"
REGRET = {name: {10 * i: round(0.01 * (5 - j) / i, 4) for i in range(1, 11)}
          for j, name in enumerate(printed.CURVES)}
LOADS = {2: 3, 5: 1, 143: 2}


def at(x, y):
    """Return the coordinates of a point: K from 0 to 100, values up to 0.05."""
    return f"{700 + 40 * x:g} {475 + 60_000 * y:g}"


def tick(start, end, value):
    """Return a tick of an axis with its label, between two other ticks."""
    return f"{start} m\n{end} l\nS\n0 g\nq\n10 0 0 10 0 0 cm BT\n/R8 18 Tf\n({value:g})Tj\nET\nQ\n"


def axes(unit):
    """Ticks of both axes, the longest number not at the end of the file."""
    drawn = [tick(at(x, 0), f"{700 + 40 * x:g} 520", x) for x in (0, 50, 100)]
    return "".join(drawn + [tick(at(0, y), f"743 {475 + 60_000 * y:g}", y * unit)
                            for y in (0, 0.02, 0.05)])


def circle(y):
    """A filled dot with its centre at a height of the axis of loads."""
    middle = 475 + 20 * y
    return f"730 {middle:g} m\n" + f"730 {middle + 9:g} 1 1 2 {middle:g} c\n" * 4 + "f\n"


def pdf(**drawings):
    """A file with these drawings as forms."""
    file = b"%PDF-1.5\n"
    for i, (name, commands) in enumerate(drawings.items()):
        stream = zlib.compress(commands.encode())
        file += (f"{i} 0 obj <<\n/Subtype /Form\n/PTEX.FileName (C:/figs/{name}.pdf)\n/Length "
                 f"{len(stream)}\n>>\nstream\n").encode() + stream + b"\nendstream\nendobj\n"
    return file


def curves():
    """Return the five curves, and their legend in the same colours."""
    lines = []
    for colour, points in zip(COLOURS, REGRET.values(), strict=True):
        steps = [f"{at(k, y)} {'lm'[k == 10]}" for k, y in points.items()]
        lines.append("\n".join([colour, *steps]) + "\nS\nQ\n")
    samples = [f"{colour}\n3516 {9 * i} m\n3806 {9 * i} l\nS\nQ\n" for i, colour in
               enumerate(COLOURS)]
    return lines, samples


def test_curves_and_dots_are_read():
    lines, samples = curves()
    dots = "".join(circle(y) for y, count in LOADS.items() for _ in range(count))
    file = pdf(b=axes(1) + "".join(lines + samples), e=axes(3000) + dots)
    assert printed.curves(printed.drawing(file, "b")) == REGRET
    assert printed.dots(printed.drawing(file, "e")) == LOADS


def test_curves_in_other_colours_than_the_legends_are_refused():
    lines, samples = curves()
    with pytest.raises(SystemExit, match="colours of the legend"):
        printed.curves(axes(1) + "".join(lines + samples[::-1]))
    with pytest.raises(SystemExit, match="no picture c"):
        printed.drawing(pdf(b=axes(1)), "c")


ERRORS = {name: [round(0.5 / (j + i), 4) for i in range(1, 5)]
          for j, name in enumerate(printed.RIVALS)}
INKS = "0.1 0.2 0.3", "0.4 0.5 0.6", "0.7 0.8 0.9", "0.2 0.1 0.0"


def stroke(colour, path):
    """A path in the units of the drawing, 10,000 to a point, y downwards from 188."""
    return (f"28575\nw 1 J 1 j /Cs1 CS {colour}\nSC q 0.0001 0 0 -0.0001 47.4 188\ncm "
            f"{path} S Q Q\n")


def panel(order=1):
    """A panel of Figure 4: 0 at 54 points, 0.5 at 188; labels, four curves, their legend."""
    labels = [(16, 60), (8, 127), (8, 194), (28, 48), (62, 48)]
    drawn = "".join(f"q 1 0 0 1 {x} {y} cm\nBT (!) Tj ET Q\n" for x, y in labels)
    for colour, values in zip(INKS, ERRORS.values(), strict=True):
        points = [f"{i} {10_000 * (188 - 54 - 268 * value):.1f}" for i, value in enumerate(values)]
        drawn += stroke(colour, " ".join(
            f"{a} m {b} l" for a, b in zip(points[:-1], points[1:], strict=True)))
    return drawn + "".join(stroke(colour, "0 0 m 24 1 l") for colour in INKS[::order])


def test_the_curves_of_figure_4_are_read():
    file = pdf(exp5=panel())
    assert printed.errors(printed.drawing(file, "exp5"), 0.5) == ERRORS
    with pytest.raises(SystemExit, match="colours of the legend"):
        printed.errors(panel(-1), 0.5)
