"""Chats: lists of ``{role, content}`` or ``{from, value}``, and how they become text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...messages import UserError
from .text import Unreadable

ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant", "model": "assistant"}

Message = dict[str, str]
Render = Callable[[list[Message]], str]
"""A chat as one text. Raises ``Unreadable`` where it cannot."""


def messages_of(value: Any) -> list[Message] | None:
    """The messages of a chat, in the form of ``{role, content}``; None where the value is no chat."""
    if not isinstance(value, list) or not value:
        return None
    messages = []
    for item in value:
        if not isinstance(item, dict):
            return None
        role = item.get("role", item.get("from"))
        content = _content(item.get("content", item.get("value")))
        if not isinstance(role, str) or content is None:
            return None
        messages.append({"role": ROLES.get(role.lower(), role.lower()), "content": content})
    return messages


def plain(messages: list[Message]) -> str:
    """What was said, without who said it."""
    return "\n\n".join(message["content"] for message in messages if message["content"])


def templated(tokenizer: Any, target: str) -> Render:
    """Chats as the target reads them.

    Raises:
        UserError: the target has no chat template.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise UserError("request.no_chat_template", target=target)

    def render(messages: list[Message]) -> str:
        try:
            return tokenizer.apply_chat_template(messages, tokenize=False)
        except Exception as error:  # a template raises what it likes, e.g. for roles that do not alternate
            raise Unreadable("chat") from error

    return render


def _content(value: Any) -> str | None:
    """A message's text; of several parts, the texts among them."""
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "\n".join(part["text"] for part in value if isinstance(part.get("text"), str))
    return value if isinstance(value, str) else None
