"""Extract the data of three published figures, with which pages 02, 10, 13 and 15 compare.

Figures 1 and 2 of Zhou, Chen and Li (2014) and Figure 4 of Bubeck, Wang and Viswanathan (2013) are
vector graphics, so the published files contain the coordinates of every point.  Run the program on
https://proceedings.mlr.press/v32/zhoub14.pdf or https://proceedings.mlr.press/v28/bubeck13.pdf::

    python -m book.printed zhoub14.pdf

The papers are not part of this repository.
"""

import re
import sys
import zlib
from collections import Counter
from pathlib import Path

PANELS = {  # panel: name of the drawing in the file; the axis of 1(c) is in thousandths
    "1(a)": "unif_N_1000_T_20000", "1(b)": "unif_N_1000_T_50000", "1(c)": "unif_N_1000_T_100000",
    "1(d)": "two_level_N_1000_T_20000", "1(e)": "two_level_N_1000_T_50000",
    "1(f)": "two_level_N_1000_T_100000",
    "2(b)": "rte_N_164_T_1640", "2(c)": "rte_N_164_T_3280", "2(d)": "rte_N_164_T_8200",
    "2(e)": "rte_hist_SAR_N_164_T_1640", "2(f)": "rte_hist_A_N_164_T_1640",
    "2(g)": "rte_prec_N_164_T_1640", "2(h)": "rte_prec_N_164_T_3280",
}
CURVES = "Uniform", "SAR", "LUCB", "OptMAI(0.8)", "OptMAI(0.9)"  # as in the legend, top down
RIVALS = "UNI", "SR", "SAR", "Gap-E"  # in Figure 4, from left to right
TOPS = {1: 0.5, 2: 1.0, 3: 0.18, 4: 0.3, 5: 0.6, 6: 1.0}  # largest tick of each vertical axis

FORM = re.compile(rb"/Subtype\s*/Form((?:(?!\bendobj\b).)*?)>>\s*stream\r?\n", re.DOTALL)
NUMBER = r"(-?[\d.]+)"
TICK = re.compile(rf"{NUMBER} {NUMBER} m\s{NUMBER} {NUMBER} l\sS\s(?:0 g\s)?q\s"
                  rf"[^()]*\({NUMBER}\)Tj")
CURVE = re.compile(rf"([\d. ]+R?G)\s((?:{NUMBER} {NUMBER} [ml]\s){{10}})S")
SAMPLE = re.compile(rf"([\d. ]+R?G)\s{NUMBER} ({NUMBER}) m\s{NUMBER} \3 l\sS\sQ")
DOT = re.compile(rf"{NUMBER} {NUMBER} m\s(?:(?:-?[\d.]+ ){{6}}c\s){{4}}f\s")
LABEL = re.compile(rf"1 0 0 1 {NUMBER} {NUMBER} cm BT")
STROKE = re.compile(rf"28575 w 1 J 1 j /Cs1 CS ([\d. ]+) SC q {NUMBER} 0 0 -\2 {NUMBER} {NUMBER} cm"
                    r" ([-\d. ml]+) S")


def drawing(pdf, name):
    """Return the drawing commands of the picture with the given name."""
    for form in FORM.finditer(pdf):
        if f"/{name}.pdf".encode() in form[1]:
            length = int(re.search(rb"/Length (\d+)", form[1])[1])
            return zlib.decompress(pdf[form.end():form.end() + length]).decode("latin-1")
    raise SystemExit(f"the file has no picture {name}")


def linear_map(found):
    """Return the linear map through the first and last pair (coordinate, value)."""
    (low, first), (high, last) = min(found), max(found)
    return lambda at: first + (at - low) * (last - first) / (high - low)


def axes(commands):
    """Return the maps from coordinates to values for x and y of Figure 1 or 2."""
    ticks = {0: [], 1: []}
    for tick in TICK.finditer(commands):
        x, y, to_x, _, value = map(float, tick.groups())
        ticks[int(x != to_x)].append((y if x != to_x else x, value))
    return linear_map(ticks[0]), linear_map(ticks[1])


def curves(commands):
    """Return the points of each curve of Figure 1 or 2: {name: {K: value}}."""
    value_x, value_y = axes(commands)
    drawn = CURVE.findall(commands)
    legend = [colour for colour, *_ in SAMPLE.findall(commands)]
    if len(drawn) != len(CURVES) or legend != [colour for colour, *_ in drawn]:
        raise SystemExit("expected five curves in the colours of the legend")
    found = {}
    for name, (_, points, *_) in zip(CURVES, drawn, strict=True):
        each = [tuple(map(float, point)) for point in re.findall(rf"{NUMBER} {NUMBER} ", points)]
        found[name] = {round(value_x(x)): round(value_y(y), 4) for x, y in each}
    return found


def dots(commands):
    """Return the number of workers with each number of tasks: {tasks: workers}."""
    value_y = axes(commands)[1]
    heights = [value_y(float(dot[2])) for dot in DOT.finditer(commands)]  # of the rightmost point
    return dict(sorted(Counter(map(round, heights)).items()))


def errors(commands, top):
    """Return the curves of a panel of Figure 4, from m = 1 on: {name: [value, ...]}.

    Coordinates are rounded to whole points, at most a hundredth of the axis.  The tick labels of
    the vertical axis, 0 to ``top``, are placed 6 points above their ticks.
    """
    commands = " ".join(commands.split())
    heights = [float(y) - 6 for _, y in LABEL.findall(commands)]
    axis = heights[: next(i for i, y in enumerate(heights) if y < heights[0])]
    value = linear_map([(axis[0], 0.0), (axis[-1], top)])
    strokes = [(colour, float(scale), float(up), re.findall(rf"{NUMBER} {NUMBER} [ml]", path))
               for colour, scale, _, up, path in STROKE.findall(commands)]
    drawn = strokes[: len(RIVALS)]
    legend = [colour for colour, *_ in strokes[len(RIVALS):]]
    if len(strokes) != 2 * len(RIVALS) or legend != [colour for colour, *_ in drawn]:
        raise SystemExit("expected four curves in the colours of the legend")
    found = {}
    for name, (_, scale, up, ends) in zip(RIVALS, drawn, strict=True):
        points = ends[::2] + ends[-1:]  # start of each segment, and the last end
        found[name] = [round(value(up - scale * float(y)), 4) for _, y in points]
    return found


def main():
    """Print the data of all panels."""
    pdf = Path(sys.argv[1]).read_bytes()
    if b"/exp1.pdf" in pdf:
        for number, top in TOPS.items():
            print(f"Figure 4, experiment {number}: errors at m = 1, 2, ...")
            for name, values in errors(drawing(pdf, f"exp{number}"), top).items():
                print(f"  {name:6} {values}")
        return
    for panel, name in PANELS.items():
        commands = drawing(pdf, name)
        if "hist" in name:
            print(f"Figure {panel}, tasks: workers\n  {dots(commands)}")
        else:
            print(f"Figure {panel}, {'precision' if 'prec' in name else 'regret'} by K")
            for curve, points in curves(commands).items():
                print(f"  {curve:12} {points}")


if __name__ == "__main__":
    main()
