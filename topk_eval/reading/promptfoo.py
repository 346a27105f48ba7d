"""Results that promptfoo writes as JSON."""

from typing import Any

from topk_eval.reading.table import RawTable, columns_of, refuse

ERRORED = 2  # the reason of a failure that is an error of the call and not a failed assertion


def is_promptfoo(log: Any) -> bool:
    """Return whether the value of a JSON file is what promptfoo writes."""
    found = log.get("results") if isinstance(log, dict) else None
    return isinstance(found, dict) and isinstance(found.get("results"), list)


def read_promptfoo(path: object, log: dict[str, Any]) -> RawTable:
    """Read results of promptfoo.

    A model is a provider, or a provider with a prompt where there are several prompts; an item is
    a test.  A call that ended with an error has failed, although promptfoo gives it 0.
    """
    found = log["results"]["results"]
    if not found:
        refuse(path, " has no results; run the evaluation again")
    for number, result in enumerate(found, 1):
        if not isinstance(result, dict) or not {"provider", "testIdx"} <= result.keys():
            refuse(path, f", result {number}: has no provider and testIdx; write it again with "
                         "promptfoo")
    prompts = {repr(_name(result.get("prompt"), "label", "display")) for result in found}
    rows, errors = [], 0
    for result in found:
        model, prompt = _name(result["provider"], "label", "id"), _name(
            result.get("prompt"), "label", "display")
        errored = result.get("failureReason") == ERRORED
        errors += errored
        named = result.get("namedScores")
        scores = {"score": result.get("score"), "success": result.get("success")} | {
            f"namedScores.{name}": value for name, value in (
                named.items() if isinstance(named, dict) else ())}
        rows.append({
            "model": f"{model}, {prompt}" if len(prompts) > 1 and isinstance(model, str) else model,
            "provider": model, "prompt": prompt, "testIdx": result["testIdx"],
        } | (dict.fromkeys(scores) if errored else scores))
    columns = columns_of(rows, absent=None)
    notes = []
    if len(prompts) > 1:
        notes.append(f"{path}: a model is a provider with one of {len(prompts)} prompts")
    if errors:
        notes.append(f"{path}: {errors} call{'s' * (errors > 1)} ended with an error and failed; "
                     "promptfoo counts each as 0")
    names = [name for name in columns if name not in ("model", "provider", "prompt", "testIdx")]
    return RawTable(str(path), "results of promptfoo", columns, range(1, len(rows) + 1), "result",
                    usual={"model": "model", "item": "testIdx"}, scores=names, notes=notes)


def _name(value, *parts):
    """Return the first text among parts of an object, or the value as it is."""
    if not isinstance(value, dict):
        return value
    return next((value[part] for part in parts if isinstance(value.get(part), str)
                 and value[part].strip()), None)
