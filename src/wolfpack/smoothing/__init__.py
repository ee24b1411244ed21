"""Smoothed linear oracles: the gradient of s_alpha, sampled or in closed form."""

from __future__ import annotations

from .oracles import Answer, Oracles
from .sampled import block_length, sample_block

__all__ = ["Answer", "Oracles", "block_length", "sample_block"]
