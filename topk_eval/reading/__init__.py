"""Tables of results from the files that people have: CSV, JSON lines, Parquet and harness logs."""

from topk_eval.reading.results import read_results

__all__ = ["read_results"]
