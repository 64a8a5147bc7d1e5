"""Prompts to begin with, each showing another side of speculation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A prompt, and whether it goes through the target's chat template."""

    name: str
    prompt: str
    chat: bool


EXAMPLES = (
    Example("code", '''import argparse
import json


def load_records(path):
    """Read a JSON file and return its list of records."""
    with open(path, encoding="utf-8") as''', chat=False),
    Example("chat", "Write a Python function that counts how often each word occurs in a text file. "
                    "Explain it in two sentences.", chat=True),
    Example("chinese", "用三句话介绍一下北京的秋天。", chat=True),
    Example("repeat", """def to_json(self):
    return {
        "name": self.name,
        "size": self.size,
        "owner": self.owner,
        "created": self.created,
    }


def from_json(cls, data):
    return cls(
        name=data["name"],
        size=""", chat=False),
)
