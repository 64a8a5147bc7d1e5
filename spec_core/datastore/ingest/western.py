"""Whether bytes look like a Western European language in cp1252, the most common of all the old encodings.

A detector that counts letters cannot tell cp1252 from its neighbours by a few words: the bytes of
"café déjà vu" are letters in all of them. But languages spell with few letters outside ASCII, and in
few places: "pøíliš" (Czech read as cp1252) or "ksi¹¿ka" (Polish) stand in no Western text.
"""

from __future__ import annotations

import re

WESTERN = "cp1252"
"""ISO 8859-1 and more: where that has control characters, this one has quotes, dashes and the euro."""
SHARE = 0.9
"""Of the words with letters outside ASCII, how many must fit a spelling."""

SPELLINGS = (
    r"[a-zàâçéèêëîïôœùûü]+",                   # French
    r"[a-zäöüßé]+",                            # German
    r"[a-záéíóúüñ]+",                          # Spanish
    r"[a-zàçèéíïòóúü·]+",                      # Catalan
    r"(?:[a-záâàçéêíóôú]|õe|ã(?:[oes]|\b))+",  # Portuguese
    r"[a-z]*[àèéìíòóùú]",                      # Italian: at a word's end
    r"[a-zåäöéü]+",                            # Swedish, Finnish
    r"[a-zæøåéèêóòôü]+",                       # Danish, Norwegian
    r"[a-zäëïöüéèêáíóú]+",                     # Dutch
)
ICELANDIC = (r"[a-záðéíóúýþæö]+",)
"""By itself: Turkish and Baltic texts, too, have the bytes of its letters."""

_RUN = re.compile(r"[^\x00-@\[-`{-\x7f’–—…\xa0]+")
"""Letters and signs without a break."""
_AROUND = r"[«»“”‘„‚‹›•·¿¡£€¥§©®™°º¹²³¼½¾±×÷µ†‡¶´¨¢¬¦ª]"
_BEFORE, _AFTER = r"[«“‘„‚‹¿¡£€§©•·]*", r"[»”›€£°©®™†‡]*"
_SIGNS = re.compile(rf"{_AROUND}|[ckdm]?m[²³]|[mnsdr]{{1,2}}[ºª]", re.IGNORECASE)
_CLUSTER = re.compile(r"[^\x00-\x7f]{3}")


def is_western(data: bytes, spellings: tuple[str, ...] = SPELLINGS) -> bool:
    """Nearly all words of a text that hold letters outside ASCII are spelt so; False where there are none."""
    try:
        text = data.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    word = re.compile(rf"{_BEFORE}(?:{'|'.join(spellings)}){_AFTER}", re.IGNORECASE)
    runs = [run for run in _RUN.findall(text) if not run.isascii()]
    fit = sum(1 for run in runs if _SIGNS.fullmatch(run) or (word.fullmatch(run) and not _CLUSTER.search(run)))
    return bool(runs) and fit >= SHARE * len(runs)
