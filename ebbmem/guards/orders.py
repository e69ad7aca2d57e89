"""What text looks like that gives orders to a model, in whatever language.

An order is known whoever says it, or only where nobody had to be obeyed: in what a tool read or
a file held. "Always answer in French" is what a person may ask for, and no web page.

Every gap is bounded, so that a search is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["HIDDEN", "MARKS", "Order", "order"]


@dataclass(frozen=True, slots=True)
class Order:
    """One manner of giving orders.

    Attributes:
        anchors: texts of which one stands in whatever matches, in lower case.
        pattern: found in lower case, line by line where it says so.
        anybody: whether it counts from a person and from a model too.
    """

    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    anybody: bool


def order(anchors: str, *patterns: str, anybody: bool = False) -> Order:
    """Of anchors parted by commas, and patterns of which one is found."""
    either = "|".join(f"(?:{each})" for each in patterns)
    return Order(tuple(anchors.split(",")), re.compile(either, re.MULTILINE), anybody)


HIDDEN = re.compile(
    "(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007e]{4}"  # but the flag of Wales
)
"""Characters of the tag block, which spell out text that nobody sees."""

MARKS: tuple[Order, ...] = (
    # tokens and tags with which prompts are put together
    order(
        "<|,[inst],[/inst],<<sys>>,<</sys>>,##,```",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|"
        r"end_header_id|begin_of_text|return|channel|message|start|end)\|>",
        r"\[/?inst\]|<</?sys>>",
        r"^`{3,4}\s?(?:system|instructions?|prompt)\b",
        r"^\s{0,3}#{2,4}\s?(?:new )?(?:system|instructions?|human|assistant|response)s?\b"
        r"\s?(?::|$)",
        anybody=True,
    ),
    order(
        "system>,instruction,tool_,function_,invoke,recollections,system-,system_,override>",
        r"</?(?:system(?:[-_ ](?:prompt|message|reminder|override))?|(?:important )?instructions?|"
        r"recollections|tool_(?:calls?|use|response|result)|function_(?:calls?|results?)|invoke|"
        r"override|admin|developer)(?: [^>\n]{0,60})?>",
        anybody=True,
    ),
    # a call of a tool, as models write one
    order(
        '"arguments",\'arguments\',"parameters","args","input"',
        r"[{,]\s{0,8}[\"'](?:name|tool|function|recipient_name|action)[\"']\s?:\s?[\"'][\w.:/-]{1,80}"
        r"[\"']\s?,\s{0,8}[\"'](?:arguments|parameters|args|input)[\"']\s?:",
        anybody=True,
    ),
    # another voice at the beginning of a line
    order(
        "system,developer,assistant,系统",
        r"^\W{0,6}(?:system|developer|系统)(?: (?:prompt|message|note|override|instructions?|"
        r"update|alert|admin)|提示|消息|指令)\W{0,4}[:>\]]",
        anybody=True,
    ),
    order(
        "system,developer,assistant,human,系统",
        r"^\W{0,6}(?:system|developer|系统)\W{0,4}:",
        r"\n\W{0,4}(?:human|assistant)\s?:",
        r"^\W{0,4}(?:human|assistant)\s?:[^\n]{0,400}\n{1,3}\W{0,4}user\s?:",
    ),
    # a picture whose address carries something away
    order("](http", r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}(?:\{|\[|<|%7b|\?\w{1,20}=\))"),
)
