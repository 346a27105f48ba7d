"""The rules of the audit: package, script, what is promised, and on which streams each is run."""

from dataclasses import dataclass, field

from benchmarks.audit.streams import INSTANCES, NEAR, PRIOR, TWENTY

PAIRS = tuple(name for name, instance in INSTANCES.items() if len(instance[0]) == 2)
ZERO_ONE = tuple(name for name, instance in INSTANCES.items() if instance[2] is None)
EQUAL = tuple(name for name, instance in NEAR.items() if len({*instance[0]}) == 1)


@dataclass(frozen=True)
class Rule:
    """A rule as it is run: `requires` is what is installed, `source` the code that decides.

    A gate gets the best arm first, as its champion; the others are candidates. `keep` names the
    streams whose decisions are recorded one by one, to be compared with the page's transcription.
    """

    name: str
    package: str
    requires: tuple[str, ...]
    script: str
    source: str
    promise: str = ""
    level: float | None = None
    options: dict = field(default_factory=dict)
    places: tuple[str, ...] = PAIRS
    runs: int = 1000
    gate: bool = False
    keep: tuple[str, ...] = ()
    cure_of: str = ""
    python: str = "3.12"
    download: str = ""  # a file that is no package
    why_not: str = ""  # it is not run

    def count(self, place: str) -> int:
        """Return the runs on an instance; of means drawn from a prior five times as many."""
        return self.runs * (5 if place == PRIOR else 1)


BAYESBENCH = {"package": "bayesbench", "requires": ("bayesbench==0.4.0.dev0",),
              "script": "bayesbench_compare", "places": (*PAIRS, PRIOR), "runs": 200, "level": 0.05,
              "source": "bayesbench.benchmark:BayesianBenchmark._stopping"}
AGENTOPT = {"package": "agentopt-py", "requires": ("agentopt-py==0.1.0", "numpy"),
            "script": "agentopt_selectors", "runs": 200}
LUCB = {**AGENTOPT, "places": ("five click rates", "two accuracies", "five accuracies"),
        "source": "agentopt.model_selection.epsilon_lucb:EpsilonLUCBModelSelector."
                  "_confidence_bounds"}
OPTUNA = {"package": "optuna", "requires": ("optuna==5.0.0", "scipy")}
GBSTATS = {"package": "gbstats", "requires": ("gbstats==0.8.0",), "script": "gbstats_sequential",
           "python": "3.11", "runs": 400}
HONESTBOARD = {"package": "honestboard", "requires": ("honestboard==0.6.1",), "gate": True,
               "script": "honestboard_chain", "level": 0.05,
               "places": (*ZERO_ONE, *EQUAL, "control .0108, treatment .010", TWENTY)}
LOOP = {"package": "", "requires": ("numpy",), "script": "loops_gates", "gate": True,
        "places": tuple(INSTANCES)}

RULES = [
    Rule("bayesbench, compare", promise="stops as soon as posterior evidence crosses a statistical "
         "confidence threshold — delivering the same rigorous conclusions at a fraction of the "
         "cost", **BAYESBENCH),
    Rule("bayesbench, one look at the end", promise="", options={"min_samples": 500},
         cure_of="bayesbench, compare", **BAYESBENCH),
    Rule("GrowthBook, sequential test", promise="look at your experiment results as many times as "
         "you like while still keeping the number of false positives below the expected rate",
         level=0.05, source="gbstats.frequentist.tests:SequentialTwoSidedTTest.p_value.fget",
         places=(*PAIRS, *NEAR), keep=("equal: .01", "control .010, treatment .0108"), **GBSTATS),
    Rule("GrowthBook, chance to win", promise="there’s a 95% chance this new button is better and "
         "a 5% chance it’s worse", level=0.05, options={"chance": True},
         source="gbstats.bayesian.tests:BayesianABTest.chance_to_win",
         keep=("two click rates", "two accuracies"), **GBSTATS),
    Rule("msprt, mixture test", "msprt", ("msprt==0.1.2",), "msprt_test", "msprt.msprt_:MSPRT",
         "providing valid statistical inference whenever they make their decision", 0.05, runs=200,
         places=("two accuracies", "equal: .01"), keep=("two accuracies", "equal: .01")),
    Rule("honestboard, fallback", source="honestboard.chain:fallback_level",
         promise="family-wise error over the whole chain, any number of records, no independence "
         "assumption", **HONESTBOARD),
    Rule("honestboard, LORD++ (its default)", source="honestboard.chain:lord_level",
         promise="LORD++ (online FDR) is calibrated by simulation", options={"rule": "lord"},
         **HONESTBOARD),
    Rule("best-arm, chernoff (its default)", "best-arm", ("best-arm==0.1.1",), "bestarm_chernoff",
         "best_arm.stopping_conditions:ChernoffStoppingCondition.should_stop", "", 0.05, runs=100,
         places=("two accuracies", "five accuracies")),
    Rule("rovingbandit, P(best) ≥ .95", "rovingbandit", ("rovingbandit==0.1.0",),
         "rovingbandit_best", "rovingbandit.objectives.best_arm_identification:"
         "BestArmIdentification.stopping_criterion", "Required confidence to stop (e.g., 0.95)",
         0.05, runs=200, places=("two click rates", "two accuracies", "two nearly equal")),
    Rule("autoresearch-mlx, P ≥ .95", promise="keep only if the change is better with high "
         "confidence", level=0.05, options={"gate": "p95"}, runs=200,
         download="https://raw.githubusercontent.com/trevin-creator/autoresearch-mlx/"
         "766a25f/rigor.py", source="rigor:score", **LOOP),
    Rule("two runs agree", promise="", options={"gate": "agree"}, source="loops_gates:decide",
         **LOOP),
    Rule("keep if better", promise="If val_bpb improved (lower), you \"advance\" the branch, "
         "keeping the git commit", source="loops_gates:decide", **LOOP),
    Rule("AgentOpt, epsilon-LUCB", promise="Stops when LUCB confidence gap is within user "
         "`epsilon`", **LUCB),
    Rule("AgentOpt, epsilon-LUCB, widened", promise="",
         options={"n_initial": 50, "confidence": 3.0}, cure_of="AgentOpt, epsilon-LUCB", **LUCB),
    Rule("AgentOpt, elimination", promise="Eliminates statistically dominated combinations",
         options={"eliminate": True}, places=("two accuracies", "five accuracies"),
         keep=("two accuracies", "five accuracies"),
         source="agentopt.model_selection.arm_elimination:ArmEliminationModelSelector."
                "_is_dominated", **AGENTOPT),
    Rule("Optuna, Hyperband", script="optuna_hyperband", promise="", places=tuple(INSTANCES),
         runs=400, source="optuna.pruners._hyperband:HyperbandPruner.prune", **OPTUNA),
    Rule("Optuna, halving", script="optuna_pruners", promise="a bandit-based algorithm to identify "
         "the best one among multiple configurations", runs=200,
         places=("five click rates", "five accuracies"),
         keep=("five click rates", "five accuracies"),
         source="optuna.pruners._successive_halving:SuccessiveHalvingPruner.prune", **OPTUNA),
    Rule("Optuna, Wilcoxon", script="optuna_pruners", runs=200,
         options={"wilcoxon": True, "size": 100},
         promise="sure up to the given p-value that the current trial is worse",
         places=("two accuracies",), keep=("two accuracies",),
         source="optuna.pruners._wilcoxon:WilcoxonPruner.prune", **OPTUNA),
    Rule("BanditEval, UCB-E", "banditeval", ("banditeval==0.1.1", "numpy"), "banditeval_ucb",
         "banditeval.bandits:upper_confidence_bound_exploration", "can identify the top-performing "
         "method using only 5-15% of the typical resources", runs=200,
         places=("five click rates", "five accuracies"),
         keep=("five click rates", "five accuracies")),
    Rule("anytimemonitor, STOP", "anytimemonitor", ("anytimemonitor==0.10.0",), "", "",
         "the coverage guarantee holds at any data-dependent stopping time", 0.05,
         why_not="not counted: a look takes seconds, for its bootstrap"),
    Rule("TensorZero, track-and-stop", "tensorzero", (), "", "", "caps the probability that an "
         "epsilon-best variant is not chosen as the winner at 5%", 0.05,
         why_not="the rule is in a gateway written in Rust: transcribed above"),
    Rule("abayes, expected loss", "abayes", (), "", "",
         why_not="a package for R: transcribed above"),
]
