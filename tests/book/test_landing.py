"""The landing page's picture, the exercises and the wheel, before they are rendered."""

import hashlib
import re
import shutil
import zipfile

import topk
import topk_eval
from book import distribution, exercises, landing, publishing, rendering
from book.build import ROOT


def test_the_picture_has_a_row_for_each_model_with_its_mean_and_tier():
    shown = landing.picture(ROOT)
    found = re.findall(r'<li class="topk-(\w+)"><span>([^<]+)</span>.*?left: ([\d.]+)%', shown)
    results = topk_eval.read_results(ROOT / landing.ANSWERS, order=ROOT / landing.QUESTIONS)
    models = topk_eval.tiers(results, k=2).frame()
    there = [*zip(models.tier, models.model, strict=True)]
    assert [(tier, name) for tier, name, _ in found] == there
    pairs = zip(found, models["mean"], strict=True)
    assert all(abs(float(x) - 100 * y) < 0.06 for (*_, x), y in pairs)
    assert {tier for tier, *_ in found} == {*landing.WORDS}  # the legend explains all marks
    assert all(word in shown for word in landing.WORDS.values())


def test_the_lines_to_begin_with_fit_their_box():
    """788 px at a window of 1,440: some 90 letters."""
    text = (ROOT / "book/intro.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.S)[1]
    assert max(map(len, code.splitlines())) <= 85
    assert not re.findall(r"^[^#\n]*\S.*  #", code, re.M)


def test_every_exercise_is_listed_with_its_level():
    names = rendering.chapters(ROOT)
    sources = {name: (ROOT / f"notebooks/{name}.md").read_text(encoding="utf-8") for name in names}
    listed = exercises.listed(ROOT, names)
    rows = re.findall(r"^\* \{ref\}`(.+) <(.+)>`: (\w+)(, with code)?$", listed, re.M)
    there = [label for text in sources.values()
             for label in re.findall(r"\{exercise\} .*\n:label: (\S+)", text)]
    assert [label for _, label, *_ in rows] == there and len(there) >= 80
    assert {level for *_, level, _ in rows} == {*exercises.LEVELS}


def test_the_length_of_a_solution_is_its_level():
    text = "````{exercise} A\n:label: a\n\nWhy?\n````\n\n````{solution} a\n:class: dropdown\n\n"
    long = text + "word " * 100 + "\n````\n"
    (found,) = exercises.exercises(long)
    assert (found.label, found.title, found.level, found.code) == ("a", "A", "long", False)
    parts = ("````{exercise} B\n:label: b\n````\n````{solution-start} b\n````\nYes.\n"
             "```{code-cell} ipython3\n" + "x = 1\n" * 99 + "```\n````{solution-end}\n````\n")
    (found,) = exercises.exercises(parts)
    assert found.level == "short" and found.code


def test_the_wheel_of_the_site_depends_on_the_files_alone(tmp_path):
    """Not on their times and modes; so a second build of the book changes nothing."""
    made = []
    for number in range(2):
        root = tmp_path / f"{number}"
        root.mkdir()
        for name in distribution.PACKED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
            copy(ROOT / name, root / name)
        (root / "_config.yml").write_text("repository: {url: }\n")
        (root / "topk/_ranges.py").chmod(0o600 if number else 0o755)
        distribution.build_wheel(root, root)
        (wheel,) = root.glob("*.whl")
        made.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert made[0] == made[1]
    assert wheel.name == f"topk_arms-{topk.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert {"topk/__init__.py", "topk_eval/commands/rank.py"} <= {*archive.namelist()}


def test_what_is_said_without_an_address_is_not_said_with_one():
    text = "<!-- unpublished -->\nfile\n<!-- /unpublished -->\n"
    text += "<!-- published -->\n{site}\n<!-- /published -->\n"
    assert publishing.fill_address(text, "") == "file\n"
    assert publishing.fill_address(text, "https://github.com/o/n") == "https://o.github.io/n\n"
