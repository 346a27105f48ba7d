"""Run lm-evaluation-harness with a scripted model, and keep its samples in logs/lm_eval.

    python tests/reading/record_lm_eval.py       # with lm_eval installed; no network is needed
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "logs" / "lm_eval"
PARTS = """
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {questions}}}}}
test_split: test
doc_to_text: "{{{{question}}}}"
"""
CHOICE = PARTS + """
output_type: multiple_choice
doc_to_choice: ["yes", "no"]
doc_to_target: answer
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""
FILTERS = PARTS + """
output_type: generate_until
doc_to_target: "{{{{number}}}}"
generation_kwargs: {{until: ["."]}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
filter_list:
  - name: strict
    filter: [{{function: regex, regex_pattern: "^([0-9]+)$"}}, {{function: take_first}}]
  - name: loose
    filter: [{{function: regex, regex_pattern: "([0-9]+)"}}, {{function: take_first}}]
"""


def scripted(name):
    """Return a model whose answers are a function of its name and of the question."""
    from lm_eval.api.model import LM

    class Scripted(LM):
        def _number(self, request):
            text = f"{name} {request.args[:1]}{request.args[1:2]}"
            return hashlib.sha256(text.encode()).digest()[0]

        def loglikelihood(self, requests):
            return [(-self._number(request) / 255, False) for request in requests]

        def generate_until(self, requests):
            return [("it is " if self._number(request) % 2 else "") + request.args[0].split()[1]
                    for request in requests]

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

    return Scripted()


def main():
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    shutil.rmtree(FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        questions = Path(folder, "questions.jsonl")
        questions.write_text("".join(
            json.dumps({"question": f"Is {n} even?", "answer": n % 2, "number": str(n)}) + "\n"
            for n in range(5)))
        for task, parts in (("even", CHOICE), ("digits", FILTERS)):
            Path(folder, f"{task}.yaml").write_text(parts.format(task=task, questions=questions))
        for name in ("left", "right"):
            results = simple_evaluate(scripted(name), tasks=["even", "digits"], bootstrap_iters=0,
                                      task_manager=TaskManager(include_path=folder))
            tracker = EvaluationTracker(output_path=str(FOLDER))
            tracker.general_config_tracker.log_experiment_args(
                model_source="scripted", model_args=f"pretrained=toy/{name}",
                system_instruction=None, chat_template=None, fewshot_as_multiturn=False)
            tracker.date_id = "2026-11-27T00-00-00.000000"
            for task, rows in results["samples"].items():
                tracker.save_results_samples(task_name=task, samples=rows)


if __name__ == "__main__":
    main()
