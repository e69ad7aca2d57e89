"""Weights of the ranking, written by `scripts/fit_ranking.py`; do not edit.

They saw:
    locomo7: 7 histories, 1345 questions
    madial_en: 2 histories, 160 questions
    madial_zh: 2 histories, 152 questions
    memorybank_en_dev: 8 histories, 55 questions
    memorybank_zh_dev: 8 histories, 56 questions
    precision_en: 1 histories, 43 questions
"""

from __future__ import annotations

__all__ = ["FITTED"]

FITTED: dict[str, dict[str, float]] = {
    "interaction": {
        "before": 0.666,
        "answer": 0.461,
        "source": 1.016,
        "window": 0.831,
        "coverage": 0.465,
        "statement": 0.246,
        "length": 0.417,
        "opening": 0.404,
        "date": 1.207,
        "time": 0.641,
        "fits": 0.305,
        "role": 0.589,
        "speaker": 0.278,
    },
    "similarity": {
        "before": 0.832,
        "answer": 0.493,
        "source": 1.159,
        "coverage": 1.379,
        "statement": 0.238,
        "length": 0.981,
        "opening": 0.492,
        "date": 1.192,
        "time": 0.689,
        "fits": 0.333,
        "role": 0.656,
        "speaker": 0.24,
    },
    "keyword": {
        "before": 1.143,
        "answer": 1.082,
        "source": 1.738,
        "coverage": 2.225,
        "statement": 0.607,
        "length": 1.521,
        "opening": 0.548,
        "date": 2.671,
        "time": 1.493,
        "fits": 0.767,
        "role": 1.52,
        "speaker": 0.821,
    },
}
