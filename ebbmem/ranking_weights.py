"""Weights of the ranking, written by `scripts/fit_ranking.py`; do not edit.

Fitted on locomo7 (1345 questions), madial_en (160 questions), madial_zh (152 questions), memorybank_en_dev (55 questions), memorybank_zh_dev (56 questions), precision_en (43 questions).
"""

from __future__ import annotations

__all__ = ["FITTED"]

FITTED: dict[str, dict[str, float]] = {
    "interaction": {
        "before": 0.713,
        "after": 0.133,
        "answer": 0.449,
        "source": 0.98,
        "window": 0.775,
        "coverage": 0.456,
        "statement": 0.246,
        "length": 0.408,
        "opening": 0.409,
        "date": 1.267,
        "time": 0.636,
        "fits": 0.303,
        "role": 0.579,
        "speaker": 0.273,
    },
    "similarity": {
        "before": 0.914,
        "after": 0.287,
        "answer": 0.482,
        "source": 1.034,
        "coverage": 1.348,
        "statement": 0.239,
        "length": 0.951,
        "opening": 0.507,
        "date": 1.262,
        "time": 0.686,
        "fits": 0.334,
        "role": 0.637,
        "speaker": 0.24,
    },
    "keyword": {
        "before": 1.215,
        "after": 0.271,
        "answer": 1.063,
        "source": 1.644,
        "coverage": 2.113,
        "statement": 0.618,
        "length": 1.513,
        "opening": 0.506,
        "date": 3.0,
        "time": 1.489,
        "fits": 0.758,
        "role": 1.442,
        "speaker": 0.813,
    },
}
