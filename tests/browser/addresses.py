"""Addresses of the page, read."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit


def place_of(url: str) -> dict[str, str]:
    """The parameters that name what is on screen."""
    return dict(parse_qsl(urlsplit(url).query))
