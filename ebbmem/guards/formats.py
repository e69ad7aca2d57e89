"""What secrets look like that need no word beside them: formats that issuers publish.

Each pattern is anchored by a fixed text, bounded on the left, and linear in what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["FORMATS", "Format", "is_card"]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of secret.

    Attributes:
        kind: what a mask calls it.
        anchors: texts of which one stands in whatever matches, as written; none: always look.
        pattern: the group `secret` is what is masked, or all of it without that group.
        holds: what else must be true of the secret.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = lambda _: True


_LEFT = r"(?<![0-9A-Za-z])"  # a prefix within a word is none


def _prefixed(kind: str, prefixes: str, rest: str, *, digit: bool = False) -> Format:
    """Keys that begin with one of several prefixes, parted by spaces."""
    listed = tuple(prefixes.split())
    either = "|".join(map(re.escape, listed))
    pattern = re.compile(f"{_LEFT}(?:{either}){rest}")
    return Format(kind, listed, pattern, _has_digit if digit else lambda _: True)


def _has_digit(secret: str) -> bool:
    return any(each.isdigit() for each in secret)


# First digits and lengths of card numbers (ISO/IEC 7812 and the issuers). Left out are Visa's
# thirteen, long withdrawn and the length of every EAN, and most of Maestro, which begins as
# anything does.
_ISSUERS: tuple[tuple[Iterable[int], tuple[int, ...]], ...] = (
    (range(400000, 500000), (16, 19)),  # Visa
    (range(510000, 560000), (16,)),  # Mastercard
    (range(222100, 272100), (16,)),
    ([*range(340000, 350000), *range(370000, 380000)], (15,)),  # American Express
    ([*range(601100, 601200), *range(644000, 660000)], (16, 19)),  # Discover
    ([*range(300000, 306000), *range(360000, 370000), *range(380000, 400000)], (14,)),  # Diners
    (range(352800, 359000), (16,)),  # JCB
    ([*range(620000, 630000), *range(810000, 820000)], (16, 19)),  # UnionPay
    (range(220000, 220500), (16,)),  # Mir
)
_LENGTHS: dict[int, tuple[int, ...]] = {
    first: lengths for firsts, lengths in _ISSUERS for first in firsts
}


def is_card(digits: str) -> bool:
    """Whether this is the number of a payment card: an issuer's, of its length, by Luhn's sum."""
    plain = [int(each) for each in digits if each.isdigit()]
    first = int("".join(map(str, plain[:6])) or 0)
    if len(plain) not in _LENGTHS.get(first, ()):
        return False
    doubled = [each * 2 - 9 * (each > 4) for each in plain[-2::-2]]
    return (sum(plain[-1::-2]) + sum(doubled)) % 10 == 0


_GROUP = r"(?P<gap>[ .-]?)"
_CARD = (
    r"(?<![0-9A-Za-z_.+-])(?:"
    rf"\d{{4}}{_GROUP}\d{{4}}(?P=gap)\d{{4}}(?P=gap)\d{{4}}(?:(?P=gap)\d{{3}})?"  # 4-4-4-4(-3)
    r"|\d{4}(?P<gap5>[ .-]?)\d{6}(?P=gap5)\d{4,5}"  # 4-6-5 and 4-6-4
    r"|\d{6}[ .-]\d{10,13}"  # 6-10 and 6-13
    r")(?![0-9A-Za-z_-]|\.\d)"
)
_BREAK = r"(?:\s|\\[nr])+"  # between lines, escaped where JSON stands in JSON
_BODY = rf"{_BREAK}[0-9A-Za-z+/=]{{16,}}(?:{_BREAK}[0-9A-Za-z+/=]{{4,}})*"

FORMATS: tuple[Format, ...] = (
    # OpenAI, Anthropic, OpenRouter, DeepSeek and others in their manner
    _prefixed("api key", "sk-", r"[0-9A-Za-z_-]{20,300}", digit=True),
    # Stripe: secret, restricted, and the secret of its webhooks
    _prefixed("api key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[0-9A-Za-z+/=]{16,}"),
    # Amazon: the id of an access key
    _prefixed("api key", "AKIA ASIA ABIA ACCA", r"[2-7A-Z]{16}(?![0-9A-Za-z])"),
    # Google: an API key, an OAuth token, an OAuth client's secret
    _prefixed("api key", "AIza", r"[0-9A-Za-z_-]{35}"),
    _prefixed("token", "ya29.", r"[0-9A-Za-z_-]{20,}"),
    _prefixed("api key", "GOCSPX-", r"[0-9A-Za-z_-]{20,}"),
    # GitHub, classic and fine-grained; GitLab
    _prefixed("token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[0-9A-Za-z]{36,}"),
    _prefixed("token", "github_pat_", r"\w{22,}"),
    _prefixed("token", "glpat- gldt- glrt- glptt-", r"[0-9A-Za-z_-]{20,}"),
    # Slack: tokens, and the address of a webhook, which is all that is asked for
    _prefixed("token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[0-9A-Za-z-]{10,}"),
    _prefixed("token", "hooks.slack.com/services/", r"T\w{6,}/B\w{6,}/\w{16,}"),
    # Telegram's bots, Discord's bots
    Format("token", (":AA",), re.compile(r"(?<!\d)\d{8,10}:AA[0-9A-Za-z_-]{32,}")),
    Format("token", (".",), re.compile(rf"{_LEFT}[MNO][\w-]{{23,28}}\.[\w-]{{6}}\.[\w-]{{27,}}")),
    # package registries: npm, PyPI, RubyGems, crates.io, Docker
    _prefixed("token", "npm_", r"[0-9A-Za-z]{36}"),
    _prefixed("token", "pypi-", r"[0-9A-Za-z_-]{50,}"),
    _prefixed("token", "rubygems_", r"[0-9a-f]{48}"),
    _prefixed("token", "dckr_pat_", r"[0-9A-Za-z_-]{20,}"),
    # models: Hugging Face, Groq, xAI, Perplexity, Replicate
    _prefixed("token", "hf_", r"[0-9A-Za-z]{30,}"),
    _prefixed("api key", "gsk_ xai- pplx- r8_", r"[0-9A-Za-z]{32,}"),
    # mail and messages: SendGrid, Mailgun, Twilio
    Format("api key", ("SG.",), re.compile(rf"{_LEFT}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}")),
    _prefixed("api key", "key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _prefixed("api key", "SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    # hosting: DigitalOcean, Fly, Heroku, Databricks, Vault, Doppler, Supabase, Tailscale
    _prefixed("token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    _prefixed("token", "FlyV1 ", r"fm\d_[0-9A-Za-z+/=_-]{20,}"),
    _prefixed("token", "HRKU-", r"[0-9A-Za-z_-]{30,}"),
    _prefixed("token", "dapi", r"[0-9a-f]{32}"),
    _prefixed("token", "hvs. hvb. hvr.", r"[0-9A-Za-z_-]{24,}"),
    _prefixed("token", "dp.pt. dp.st. sbp_ tskey-", r"[0-9A-Za-z_.-]{24,}"),
    # Alibaba's and Tencent's clouds
    _prefixed("api key", "LTAI", r"[0-9A-Za-z]{12,20}(?![0-9A-Za-z])", digit=True),
    _prefixed("api key", "AKID", r"[0-9A-Za-z]{32}(?![0-9A-Za-z])"),
    # work: Notion, Linear, Atlassian, Postman, New Relic, Shopify, Sentry, Airtable, Figma
    _prefixed("token", "ntn_ secret_", r"[0-9A-Za-z]{40,}", digit=True),
    _prefixed("api key", "lin_api_", r"[0-9A-Za-z]{32,}"),
    _prefixed("token", "ATATT3", r"[0-9A-Za-z=_-]{40,}"),
    _prefixed("api key", "PMAK- NRAK-", r"[0-9A-Za-z-]{24,}"),
    _prefixed("token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),
    _prefixed("token", "sntrys_ sntryu_ figd_", r"[0-9A-Za-z+/=_-]{32,}"),
    Format("token", ("pat",), re.compile(rf"{_LEFT}pat[0-9A-Za-z]{{14}}\.[0-9a-f]{{64}}")),
    # Azure's storage; age
    Format("api key", ("Key=",), re.compile(r"AccountKey=(?P<secret>[0-9A-Za-z+/]{60,}={0,2})")),
    _prefixed("private key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    # JSON Web Tokens (RFC 7519): header and claims are objects, `{"` in Base64
    _prefixed("token", "eyJ", r"[0-9A-Za-z_-]{8,999}\.eyJ[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]*)?"),
    # an authorisation header (RFC 6750, RFC 7617)
    Format(
        "token",
        ("earer ", "asic ", "EARER ", "ASIC "),
        re.compile(rf"(?i){_LEFT}(?:bearer|basic) +(?P<secret>[0-9a-z._~+/=-]{{16,}})"),
        _has_digit,
    ),
    # private keys (RFC 7468, OpenPGP), whole or as far as they go
    Format(
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN (?:[0-9A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]*(?:-(?!----)[^-]*)*-----END [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rf"|{_BODY})"
        ),
    ),
    # a password in an address (RFC 3986, 3.2.1)
    Format(
        "password",
        ("://",),
        re.compile(r"[A-Za-z][0-9A-Za-z+.-]{1,20}://[^\s:/@?#]{0,80}:(?P<secret>[^\s/@]{1,200})@"),
        lambda secret: not secret.startswith(("$", "<", "{")),  # a place to fill in
    ),
    Format("card number", (), re.compile(_CARD), is_card),
    # what is printed on its back
    Format(
        "security code",
        ("CV", "cv"),
        re.compile(
            r"(?i)(?<![a-z])c[vs][vc]2?(?: code)?(?: is)?\s?:?\s?"
            r"(?P<secret>\d{3,4})(?![0-9a-z_-]|\.\d)"
        ),
    ),
)
"""In the order in which they are tried; where two overlap, the one that begins first holds."""
