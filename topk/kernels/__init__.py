"""Compiled parts that the strategies share: drawing, ranking and the fused loop."""
