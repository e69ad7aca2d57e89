"""Made-up secrets of each kind, and numbers that are none."""

from __future__ import annotations

import string

from hypothesis import strategies as st

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"


def chars(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=least if most is None else most)


def luhn(start: str) -> str:
    """With the last digit that makes the sum right (ISO/IEC 7812-1, annex B)."""
    digits = [int(each) for each in start]
    doubled = [each * 2 - 9 * (each > 4) for each in digits[::-2]]
    return start + str(-(sum(doubled) + sum(digits[-2::-2])) % 10)


def _grouped(digits: str, gap: str) -> str:
    sizes = (4, 6, 5) if len(digits) == 15 else (4, 4, 4, 4)
    parts, at = [], 0
    for size in sizes:
        parts.append(digits[at : at + size])
        at += size
    return gap.join(parts)


CARDS = st.builds(
    lambda start, rest, gap: _grouped(
        luhn((start + rest)[: 14 if start in ("34", "37") else 15]), gap
    ),
    st.sampled_from(["4", "51", "55", "2221", "2720", "34", "37", "6011", "3528", "62"]),
    chars(string.digits, 15),
    st.sampled_from(["", " ", "-", "\u00a0", "\u2007"]),
)
_PEM = st.builds(
    lambda kind, lines: "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"]),
    st.sampled_from(["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"]),
    st.lists(chars(ALNUM + "+/", 64), min_size=2, max_size=5),
)
_CHANGING = st.builds(  # what a generator gives: letters and digits take turns often
    lambda pairs: "".join(a + b for a, b in pairs),
    st.lists(
        st.tuples(st.sampled_from(string.ascii_letters), st.sampled_from(string.digits)),
        min_size=8,
        max_size=20,
    ),
)
_PASSWORDS = st.builds(
    lambda a, b, c: a + b + c,
    chars(string.ascii_letters, 3, 8),
    chars(string.digits, 1, 4),
    chars(ALNUM, 2, 6),
)


def _said(pattern: str, secret: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, str]]:
    return secret.map(lambda each: (pattern.format(each), each))


SECRETS: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    "openai": _said("{}", chars(ALNUM, 47).map(lambda each: f"sk-proj-{each}1")),
    "anthropic": _said("{}", chars(ALNUM, 94).map(lambda each: f"sk-ant-api03-{each}")),
    "aws": _said("{}", chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16).map("AKIA{}".format)),
    "github": _said("{}", chars(ALNUM, 36).map("ghp_{}".format)),
    "github fine": _said("{}", chars(ALNUM, 60).map("github_pat_{}".format)),
    "gitlab": _said("{}", chars(ALNUM, 20).map("glpat-{}".format)),
    "google": _said("{}", chars(ALNUM + "_-", 35).map("AIza{}".format)),
    "slack": _said("{}", chars(ALNUM, 24).map("xoxb-{}".format)),
    "stripe": _said("{}", chars(ALNUM, 24).map("sk_live_{}".format)),
    "npm": _said("{}", chars(ALNUM, 36).map("npm_{}".format)),
    "hugging face": _said("{}", chars(ALNUM, 34).map("hf_{}".format)),
    "telegram": _said("{}", chars(ALNUM, 33).map("123456789:AA{}".format)),
    "jwt": _said("{}", chars(ALNUM, 20, 60).map(lambda x: f"eyJ{x}.eyJ{x[::-1]}.{x}")),
    "bearer": _said("Authorization: Bearer {}", chars(ALNUM, 20, 40).map("{}7".format)),
    "private key": _said("{}", _PEM),
    "card": _said("{}", CARDS),
    "address": _said("postgres://app:{}@db.example/main", _PASSWORDS),
    "password is": _said("my wifi password is {} by the way", _PASSWORDS),
    "password for": _said("The password for the router at home is {}.", _PASSWORDS),
    "password=": _said("DB_PASSWORD={}", _PASSWORDS),
    "password json": _said('{{"password": "{}"}}', _PASSWORDS),
    "password quoted": _said("the passphrase is 'correct horse {} battery'", _PASSWORDS),
    "api key": _said("the api key for the weather service: {}", _CHANGING),
    "secret": _said("client_secret={}", _CHANGING),
    "pin": _said("The PIN is {}.", chars(string.digits, 4)),
    "zh password": _said("我家无线网的密码是{}，别忘了", _PASSWORDS),
    "zh digits": _said("保险箱密码：{}。", chars(string.digits, 6)),
    "zh changed": _said("密码改成了{}", _PASSWORDS),
    "zh token": _said("访问令牌为 {}", _CHANGING),
}


def _isbn(start: str) -> str:
    total = sum(int(each) * (3 if at % 2 else 1) for at, each in enumerate(start))
    return f"{start[:3]}-{start[3]}-{start[4:9]}-{start[9:]}-{-total % 10}"


NO_SECRETS: dict[str, st.SearchStrategy[str]] = {
    "uuid": st.uuids().map(str),
    "commit": chars(HEX, 40),
    "short commit": chars(HEX, 7),
    "digest": chars(HEX, 64),
    "date": st.datetimes().map(lambda each: each.isoformat()),
    "phone": st.builds(
        lambda land, a, b: f"+{land} {a} {b}",
        st.sampled_from(["1", "44", "49", "62", "86"]),
        chars(string.digits, 3),
        chars(string.digits, 8),
    ),
    "mobile": chars(string.digits, 10).map("1{}".format),
    "order": st.builds(
        lambda a, b: f"{a}-{b}", chars(string.ascii_uppercase, 2), chars(string.digits, 6, 11)
    ),
    "isbn": chars(string.digits, 9).map(lambda each: _isbn(f"978{each}")),
    "nanoseconds": st.integers(10**18, 2 * 10**18).map(str),
    "iban": chars(string.digits, 20).map("DE{}".format),
    "address of mail": chars(LOWER, 5, 12).map("{}@example.org".format),
}
