"""Mutation tests of the library's decisions: ``make mutate``.

A mutant is a module with one small change, such as ``<`` in place of ``<=``; tests should fail for
it.  One for which they pass (a survivor) is either equivalent to the original or shows a missing
assertion.  For each module a random sample of its mutants is run against the quick tests of
`TESTS`, on a copy of the repository in a temporary folder, with loops as plain Python.

mutmut replaces functions by others that call the variants, but rules are looked up by their class.
cosmic-ray starts an interpreter for each mutant, and imports take longer than
most of these tests.  Here the process that has imported NumPy, numba and pytest is forked instead.
"""

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[1]
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile", "mutants",
           "-m", "not browser and not slow",
           "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported already
LOG = "log.txt"  # output of the tests, in the temporary folder
OWN = ["tests/strategies/test_own_rule.py"]


def named(file, *names, only=()):
    """Return the arguments of pytest for some tests of a file, of some strategies."""
    each = [f"[{name}]" for name in only] or [""]
    return [f"tests/{file}.py::test_{name}{which}" for name in names for which in each]


TESTS = {  # module -> arguments of pytest, quick tests first
    "topk/confidence/confidence.py": [
        "tests/confidence/test_confidence.py",
        *("--deselect=" + name for name in named(
            "confidence/test_confidence",
            "walks_leave_their_intervals_with_probability_at_most_delta",
            "top_two_stops_when_the_evidence_does", "intervals_grow_with_confidence")),
        *named("test_refusals", "a_wrong_argument_is_refused_by_name",
               only=("interval", "evidence")),
        *named("confidence/test_finite", "evidence_is_the_least_delta_at_which_the_intervals_part",
               "impossible_values_are_refused_by_name"),
    ],
    "topk/confidence/betting.py": [
        *named("confidence/test_betting", "edges", "an_arm_without_pulls_has_the_whole_interval",
               "incompatible_arguments_are_refused",
               "squares_rounded_upwards_only_widen_the_interval",
               "the_ends_are_on_the_safe_side_of_the_definition_and_close_to_it",
               "compiled_and_plain_bounds_agree"),
        *named("confidence/test_confidence",
               "evidence_by_pairs_with_squares_is_that_of_its_definition"),
    ],
    "topk/confidence/finite.py": [
        "tests/confidence/test_finite.py",
        *named("confidence/test_sides",
               "bounds_of_a_finite_set_are_crossed_no_more_often_than_their_level_says"),
    ],
    "topk_eval/rows.py": ["tests/evaluation/test_graded.py"],
    "topk_eval/graded.py": ["tests/evaluation/test_graded.py",
                            "tests/evaluation/test_cells_of_models.py"],
    "topk/strategies/paired.py": ["tests/strategies/test_paired_betting.py"],
    "topk/rules/numbered_state.py": ["tests/strategies/test_paired_betting.py",
                                     "tests/evaluation/test_cells_of_models.py"],
    "topk/confidence/paired.py": ["tests/confidence/test_paired.py"],
    "topk_eval/ranks.py": ["tests/evaluation/test_ranks.py", "--deselect=" + named(
        "evaluation/test_ranks", "new_items_all_tables_looked_at_after_every_item")[0]],
    "topk_eval/bets.py": ["tests/evaluation/test_gate.py"],
    "topk_eval/gate.py": ["tests/evaluation/test_gate.py"],
    "topk_eval/trial.py": ["tests/evaluation/test_gate.py"],
    "topk/rules/base.py": [
        "tests/test_many_arms.py",
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("Uniform",)),
        *named("strategies/test_improved", "arms_that_left_do_not_fill_the_set"),
        *OWN, *named("live/test_withdraw", "the_other_of_a_pair_is_handed_out_alone"),
        *named("live/test_withdraw", "fewer_than_k_arms_are_never_left",
               "settled_arms_stay_settled", "sessions_are_stored_and_arms_leave_at_any_moment",
               only=("MultiBanditSAR", "UGapEc-variance")),
    ],
    "topk/rules/rounds.py": [
        *OWN, "tests/strategies/test_sequential_halving.py",
        *named("strategies/test_agreement", "run_replicate_a_trace_and_a_session_driven_by_hand_"
               "agree", only=("OptMAI", "Racing", "MultiBanditSAR")),
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("SAR", "AdaptiveTopK")),
    ],
    "topk/rules/indices.py": [
        *named("engine/test_recorded_plays", "runs_agree_with_the_file", only=("LUCBPlusPlus",)),
        *OWN, *named("live/test_withdraw", "the_other_of_a_pair_is_handed_out_alone"),
        *named("live/test_withdraw", "sessions_are_stored_and_arms_leave_at_any_moment",
               "an_arm_that_left_at_once_is_one_arm_less_with_its_share_of_delta_unspent",
               only=("LUCB1", "CLUCBPAC")),
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("LUCB1",)),
    ],
    "topk/rules/ranking.py": [
        "tests/rules/test_ranking.py", "tests/test_many_arms.py",
        *named("live/test_report", "a_report_has_a_row_an_arm_in_the_order_of_the_means"),
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("SuccessiveRejects", "MultiBanditUGapEc")),
    ],
    "topk/rules/numbered.py": ["tests/evaluation/test_graded.py",
                               "tests/strategies/test_paired_betting.py",
                               "tests/evaluation/test_cells_of_models.py"],
    "topk/rules/search/arrays.py": [
        "tests/rules/test_arrays.py",
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("CLUCBPAC",)),
    ],
    "topk/rules/search/clucb_trees.py": ["tests/rules/test_clucb_trees.py"],
    "topk/rules/search/top_k_scan.py": ["tests/rules/test_top_k_searches.py"],
    "topk/rules/search/top_k_trees.py": ["tests/rules/test_top_k_searches.py"],
    "topk/rules/search/tournament.py": [
        "tests/rules/test_tournament.py", "tests/rules/test_tournament_bounds.py",
        "tests/rules/test_ugape_searches.py", "tests/rules/test_clucb_trees.py",
    ],
    "topk/rules/search/ugape_scan.py": ["tests/rules/test_ugape_searches.py"],
    "topk/rules/search/ugape_trees.py": ["tests/rules/test_ugape_searches.py"],
    "topk/rules/search/weakest_pair.py": [
        "tests/rules/test_weakest_pair.py",
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("TopTwo",)),
    ],
    "topk/rules/allocation.py": [
        *named("simulate/test_run", "water_fill_hands_out_one_pull_at_a_time"),
        *named("live/test_studies", "pulls_go_to_the_arms_with_the_fewest"),
    ],
    "topk/engine/loop.py": [
        *OWN, *named("strategies/test_agreement", "run_replicate_a_trace_and_a_session_driven_by_"
                     "hand_agree", only=("LUCB1", "OptMAI", "UGapEc-variance", "Coin")),
        "tests/engine/test_reward_laws.py",
        *named("simulate/test_run", "checkpoints_never_change_a_run",
               only=("LUCB1", "AdaptiveTopK")),
    ],
    "topk/rules/plain.py": [
        *OWN, *named("strategies/test_agreement", "run_replicate_a_trace_and_a_session_driven_by_"
                     "hand_agree", only=("BigBatches",)),
        *named("simulate/test_run", "an_invalid_answer_of_a_plain_python_strategy_is_refused",
               "a_plain_python_strategy_asks_for_no_more_than_its_budget"),
        *named("live/test_session", "a_memory_of_plain_values_is_stored_and_stays_apart",
               "a_memory_that_json_would_change_is_refused_when_it_is_stored"),
        *named("live/test_withdraw", "a_strategy_of_ones_own_must_say_how_to_go_on"),
        *named("live/test_files", "a_state_is_a_snapshot", only=("BigBatches",)),
    ],
    "topk/rules/state.py": [
        *OWN, *named("strategies/test_agreement", "run_replicate_a_trace_and_a_session_driven_by_"
                     "hand_agree", only=("OptMAI", "LUCB1", "MultiBanditUGapEc")),
        *named("live/test_withdraw", "sessions_are_stored_and_arms_leave_at_any_moment",
               only=("OptMAI", "LUCB1", "UGapEc-variance")),
        *named("live/test_files", "a_state_is_a_snapshot"),
        *named("strategies/test_transcriptions", "the_pulls_and_the_set_are_those_of_the_papers_"
               "pseudo_code", only=("LUCB1", "BettingLUCB")),
    ],
    "topk/engine/tiering.py": ["tests/engine/test_tiering.py"],
    "topk/live/arrivals.py": [
        *named("live/test_studies", "a_part_of_a_sum_and_the_rest_are_the_whole",
               "a_restart_does_not_change_the_split_of_sums",
               "surplus_results_of_a_round_count_in_the_next",
               "an_unsplittable_sum_waits_until_all_of_it_is_requested",
               "logged_data_may_end_a_run", "sums_of_up_to_10_to_the_9_rewards_are_divided",
               "a_part_of_a_sum_satisfies_hoeffdings_inequality"),
        *named("live/test_studies", "kept_results_count_in_the_order_of_their_arrival",
               "a_copy_splits_sums_without_a_draw_from_the_generator_of_the_original",
               "a_session_reports_pulls_in_flight"),
        "tests/live/test_session.py",
        "--deselect=tests/live/test_session.py::test_interleavings_end_like_the_straight_run",
        *named("live/test_files", "a_state_is_a_snapshot", only=("SAR",)),
        *named("live/test_joining", "all_that_is_known_is_taken_over", only=("KLLUCB",)),
        *named("live/test_withdraw", "sessions_are_stored_and_arms_leave_at_any_moment",
               only=("LUCB1",)),
    ],
    "topk/live/exact.py": ["tests/test_many_arms.py"],
    "topk/live/subgaussian.py": [
        "tests/live/test_subgaussian.py",
        "--deselect=tests/live/test_subgaussian.py::test_false_alarms_have_at_most_the_stated_"
        "probability",
        *named("live/test_joining", "a_sigma_that_was_refuted_stays_so"),
    ],
    "topk_eval/cells.py": [
        "tests/evaluation/test_cells.py",
        "--deselect=tests/evaluation/test_cells.py::TestHarness::runTest",
        "--deselect=" + named("evaluation/test_cells", "a_study_of_one_cell_at_a_time_makes_the_"
                              "same_requests_as_a_run")[0],
        *named("evaluation/test_joining", "a_finite_study_keeps_the_orders_of_its_models"),
    ],
    "topk/rules/exhausted.py": [
        *named("evaluation/test_testset", "epsilon_is_in_items_and_a_bound_that_touches_is_enough",
               "exact_ties_are_certified_and_everything_known_ends_a_run",
               "budgets_beyond_all_cells_and_several_bandits_are_refused",
               "fixed_budgets_ask_each_cell_at_most_once"),
        *named("evaluation/test_cells", "a_lost_cell_does_not_block_a_study",
               "a_request_never_exceeds_the_number_of_cells"),
    ],
    "topk/confidence/kl.py": [
        "tests/confidence/test_kl.py",
        *named("confidence/test_confidence", "bounds_are_outside_by_rounding_only",
               "evidence_is_that_of_its_definition"),
    ],
}
SWAPS = {  # operators and functions, and what replaces them
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,),
    ast.Or: (ast.And,), ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Add,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.RShift: (ast.LShift,),
    "min": ("max",), "max": ("min",), "minimum": ("maximum",), "maximum": ("minimum",),
    "floor": ("ceil",), "ceil": ("floor",), "any": ("all",), "all": ("any",),
}


def variants(node):
    """Yield the changed forms of a node of the syntax tree."""
    def changed(**fields):
        new = copy.copy(node)
        vars(new).update(fields)
        return new

    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for other in SWAPS.get(type(op), ()):
                    yield changed(ops=[*ops[:i], other(), *ops[i + 1 :]])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op):
            for other in SWAPS.get(type(op), ()):
                yield changed(op=other())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield changed(value=not node.value)
        case ast.Constant(value=int() | float()):
            yield changed(value=node.value + 1)
            yield changed(value=node.value - 1)
        case ast.Name(id=name):
            for other in SWAPS.get(name, ()):
                yield changed(id=other)
        case ast.Attribute(attr=name):
            for other in SWAPS.get(name, ()):
                yield changed(attr=other)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
    if isinstance(test := getattr(node, "test", None), ast.Name | ast.Attribute | ast.Call):
        yield changed(test=ast.UnaryOp(ast.Not(), test))


def nodes(tree):
    """Yield the nodes below a node, without annotations, imports and texts with values."""
    for child in ast.iter_child_nodes(tree):
        skipped = getattr(tree, "annotation", None), getattr(tree, "returns", None)
        if child not in skipped and not isinstance(child, ast.JoinedStr | ast.Import):
            yield child
            yield from nodes(child)


def mutants(source):
    """Yield number of the line, old text, new text, and the whole source of every mutant."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    whole = b"".join(lines)
    for node in nodes(ast.parse(source)):
        for new in variants(node):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(new))
            if isinstance(node, ast.stmt):
                text = text.replace("\n", "\n" + " " * node.col_offset)
            elif isinstance(new, ast.expr) and not isinstance(new, ast.Name | ast.Attribute):
                text = f"({text})"
            made = whole[:begin] + text.encode() + whole[end:]
            yield node.lineno, whole[begin:end].decode(), text, made.decode()


def outcome(tests, seconds):
    """Run tests in a child process; return its exit code (negative: killed), and its CPU time."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(10 * seconds)  # if it waits for ever
        output = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 4
        try:
            code = int(pytest.main([*OPTIONS, *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def judge(module, count, seed):
    """Run a sample of a module's mutants; print its survivors and a line of numbers."""
    path, tests = Path(module), TESTS[module]
    source = path.read_text(encoding="utf-8")
    sys.dont_write_bytecode = False
    code, used = outcome(tests, 600)
    sys.dont_write_bytecode = True  # a mutant must not be taken for the one before it
    if code:
        sys.exit(f"{Path(LOG).read_text()}\n{module}: its tests fail without a change ({code})")
    found, seconds = [*mutants(source)], int(3 + 2 * used)
    sample = random.Random(seed).sample(range(len(found)), len(found))[:count]
    killed = late = 0
    for number in sample:
        line, old, new, text = found[number]
        path.write_text(text, encoding="utf-8")
        code, _ = outcome(tests, seconds)
        killed, late = killed + (code > 0), late + (code < 0)
        if code == 0:
            print(f"{module}:{line}: {' '.join(f'{old}  ->  {new}'.split())}", flush=True)
    path.write_text(source, encoding="utf-8")
    rest = len(sample) - killed - late
    print(f"{module}: {len(sample)} of {len(found)} mutants: {killed} killed, {late} out of time, "
          f"{rest} survived", flush=True)


def main():
    """Copy the repository, and judge the modules that the command line names.

    What the tests need is imported here, but not topk, of which every child has its own variant.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=[*TESTS], help="such as topk/rules/base.py")
    parser.add_argument("--count", type=int, default=40, help="most mutants of a module")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("topk", "topk_eval", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, Path(folder, name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        os.chdir(folder)
        sys.path[:0] = [folder, str(Path(folder, "tests"))]
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        for name in ("numba", "pandas", "scipy.stats"):
            import_module(name)
        settings.register_profile(
            "mutants", deadline=None, derandomize=True, database=None,
            suppress_health_check=[HealthCheck.too_slow], phases=[Phase.explicit, Phase.generate])
        for module in given.modules:
            judge(module, given.count, given.seed)


if __name__ == "__main__":
    main()
