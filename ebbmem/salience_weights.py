"""Weights of importance, written by `scripts/fit_salience.py`; do not edit.

Seen: locomo7, madial_en, madial_zh, memorybank_en_dev, memorybank_zh_dev, precision_en;
28 histories, 5733 items, 1399 of them evidence.
AUC of "is evidence", and percent of questions that keep evidence when 20 / 40 / 60 % are dropped,
in sample and with the history and its translation held out:

    locomo7            in sample  AUC 0.849   kept 99.1 / 97.0 / 90.5
    madial_en          in sample  AUC 0.552   kept 95.6 / 88.1 / 70.6
    madial_zh          in sample  AUC 0.574   kept 96.7 / 85.5 / 65.8
    memorybank_en_dev  in sample  AUC 0.855   kept 100.0 / 100.0 / 96.4
    memorybank_zh_dev  in sample  AUC 0.849   kept 100.0 / 98.2 / 85.7
    precision_en       in sample  AUC 0.747   kept 90.7 / 86.0 / 69.8
    locomo7            held out   AUC 0.847   kept 99.2 / 97.0 / 90.2
    madial_en          held out   AUC 0.544   kept 96.2 / 88.1 / 69.4
    madial_zh          held out   AUC 0.566   kept 96.7 / 85.5 / 65.1
    memorybank_en_dev  held out   AUC 0.845   kept 100.0 / 98.2 / 94.5
    memorybank_zh_dev  held out   AUC 0.837   kept 100.0 / 98.2 / 83.9
    precision_en       held out   AUC 0.743   kept 90.7 / 76.7 / 69.8
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BIAS", "SEEN", "WEIGHTS"]

_FITTED = {
    "answers": 0.872,
    "assistant": -1.626,
    "feeling": 0.372,
    "first_person": 0.410,
    "kin": 0.361,
    "length": 0.607,
    "names": 0.474,
    "new": 0.273,
    "question": -0.466,
    "quote": 1.144,
    "rarity": 3.349,
    "second_person": -0.307,
    "stated": 0.173,
    "time": 0.993,
}
SEEN = frozenset(
    (
        "locomo7",
        "madial_en",
        "madial_zh",
        "memorybank_en_dev",
        "memorybank_zh_dev",
        "precision_en",
    )
)
WEIGHTS: Mapping[str, float] = MappingProxyType(_FITTED)
BIAS = -5.165  # an average text has a salience of one half
