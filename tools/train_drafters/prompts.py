"""Prompts to distil on: code, chat, translation, summaries, questions on a passage, and sums.

None of them is a benchmark prompt. Chat turns are sampled from the target itself: given
the beginning of a user turn, an instruct model writes one (Magpie, Xu et al., 2024).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from . import sources

SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
USER = "<|im_start|>user\n"
ANSWER = "<|im_end|>\n<|im_start|>assistant\n"


MOST = 6000
SHARES = {"code": 0.5, "chat": 0.06, "summary": 0.07, "rag": 0.07, "translation": 0.12, "sum": 0.1, "question": 0.08}


@dataclass(frozen=True)
class DistilPrompt:
    """A prompt as the target reads it, and its kind."""

    kind: str
    text: str


def chat(text: str) -> str:
    """A user turn in the target's chat template."""
    return f"{SYSTEM}{USER}{text}{ANSWER}"


def made_prompts(seed: int) -> list[DistilPrompt]:
    """All prompts that are made from installed texts, shuffled."""
    rng = random.Random(seed)
    files = sources.python_files()
    rng.shuffle(files)
    prompts: dict[DistilPrompt, None] = {}
    for path in files:
        stubs = list(sources.function_stubs(path))
        for stub in rng.sample(stubs, min(2, len(stubs))):
            head = rng.choice(["", "", "from typing import List\n\n\n", "import math\n\n\n", "from typing import Any\n\n\n"])
            prompts.setdefault(DistilPrompt("code", head + stub))
        if rng.random() < 0.15:
            prompts.setdefault(DistilPrompt("code", sources.code_heads(path, rng.randint(20, 60))))
        if stubs and rng.random() < 0.1:
            ask = rng.choice(CODE_QUESTIONS)
            prompts.setdefault(DistilPrompt("chat", chat(ask.format(code=rng.choice(stubs).strip()))))
    passages = sources.passages()
    for passage in passages:
        prompts.setdefault(DistilPrompt("summary", chat(rng.choice(SUMMARISE).format(passage=passage))))
        other = " ".join(rng.sample(passages, 2))
        prompts.setdefault(DistilPrompt("rag", chat(f"{passage} {other}\n\n{rng.choice(ABOUT)}")))
    for sentence in sources.german_sentences():
        prompts.setdefault(DistilPrompt("translation", chat(f"Translate German to English: {sentence}")))
    for _ in range(2000):
        prompts.setdefault(DistilPrompt("sum", chat(_sum(rng))))
    for pattern in QUESTIONS:
        for topic in TOPICS:
            prompts.setdefault(DistilPrompt("question", chat(pattern.format(topic=topic))))
    return _mixed(list(prompts), rng)


def passage_prompts(passages: list[str], count: int, rng: np.random.Generator) -> list[DistilPrompt]:
    """Summaries of passages, and questions about two of them."""
    prompts = []
    for _ in range(count):
        first, second = (passages[i] for i in rng.choice(len(passages), 2, replace=False))
        if rng.random() < 0.5:
            prompts.append(DistilPrompt("summary", chat(str(rng.choice(SUMMARISE)).format(passage=first))))
        else:
            prompts.append(DistilPrompt("rag", chat(f"{first} {second}\n\n{rng.choice(ABOUT)}")))
    return prompts


def is_prose(text: str) -> bool:
    """Whether a text reads as a passage: long enough, and mostly words."""
    letters = sum(c.isalpha() or c.isspace() for c in text)
    return len(text.split()) >= 60 and letters > 0.9 * len(text)


def texts(seed: int) -> list[str]:
    """Texts to read without an answer: passages of code and of prose, shuffled."""
    rng = random.Random(seed)
    found = sources.passages()
    for path in sources.python_files():
        lines = path.read_text(encoding="utf-8", errors="ignore").splitlines()
        found += ["\n".join(lines[start:start + 50]) for start in range(0, len(lines) - 25, 150)]
    rng.shuffle(found)
    return found


def _mixed(prompts: list[DistilPrompt], rng: random.Random) -> list[DistilPrompt]:
    """``MOST`` prompts, each kind with its share as far as there are as many."""
    kinds = {kind: [prompt for prompt in prompts if prompt.kind == kind] for kind in SHARES}
    for group in kinds.values():
        rng.shuffle(group)
    mixed = [prompt for kind, group in kinds.items() for prompt in group[:int(MOST * SHARES[kind])]]
    rng.shuffle(mixed)
    return mixed


def _sum(rng: random.Random) -> str:
    """A word problem of the grade-school kind."""
    name, other = rng.sample(NAMES, 2)
    thing = rng.choice(THINGS)
    a, b, c = rng.randint(3, 60), rng.randint(2, 12), rng.randint(2, 30)
    return rng.choice(SUMS).format(name=name, other=other, thing=thing, a=a, b=b, c=c, d=a * b, e=a + c)


CODE_QUESTIONS = (
    "Explain what this Python function does:\n\n{code}", "Write a test for this function:\n\n{code}",
    "Rewrite this function in a simpler way:\n\n{code}", "Add type hints to this function:\n\n{code}",
)
SUMMARISE = ("Summarize: {passage}", "Summarize the following text in two sentences:\n\n{passage}",
             "Rewrite this text for a child: {passage}", "List the main points of this text: {passage}")
ABOUT = ("What is this text mainly about?", "Which benefits are mentioned above?", "Who would use this, and why?",
         "Answer from the text above: what does it require?", "What are the limits that the text names?")
QUESTIONS = (
    "What is {topic}?", "Explain {topic} in simple words.", "Write a short story about {topic}.",
    "What are the advantages and disadvantages of {topic}?", "Who invented {topic}, and when?",
    "Give me five tips about {topic}.", "Write an email to a colleague about {topic}.",
    "Compare {topic} with something similar.", "How does {topic} affect the economy?",
    "Write a poem about {topic}.", "Imagine you are a teacher. Prepare a lesson about {topic}.",
    "where does {topic} come from", "when was {topic} first used", "Write a blog post about {topic} with headings.",
)
TOPICS = (
    "the printing press", "photosynthesis", "machine learning", "the French Revolution", "inflation", "tea", "chess",
    "black holes", "public libraries", "electric cars", "the Roman Empire", "vaccines", "a lighthouse", "the violin",
    "climate change", "bread baking", "the Silk Road", "solar panels", "the human heart", "stock markets", "volcanoes",
    "a lost key", "remote work", "DNA", "the Olympic Games", "coffee", "bicycles", "the internet", "dreams", "glaciers",
    "democracy", "a talking cat", "wind energy", "the telescope", "jazz music", "recycling", "the moon", "honey bees",
    "a train journey", "cryptography", "the immune system", "friendship", "robots", "coral reefs", "the alphabet",
    "earthquakes", "gardening", "time management", "the piano", "quantum computers", "sleep", "a small village",
)
NAMES = ("Anna", "Ben", "Carla", "David", "Elena", "Farid", "Grace", "Hugo", "Iris", "Jonas", "Kim", "Lina", "Marco", "Nora")
THINGS = ("apples", "books", "pencils", "stamps", "marbles", "tickets", "cookies", "flowers", "shells", "coins")
SUMS = (
    "{name} has {a} {thing}. {other} gives {name} {c} more. How many {thing} does {name} have now?",
    "{name} buys {b} boxes with {a} {thing} each and gives away {c} {thing}. How many {thing} are left?",
    "A ticket costs ${a}. {name} buys {b} tickets and pays with ${d} and a coupon of ${c}. How much change is there?",
    "{name} reads {a} pages a day for {b} days, and {other} reads {c} pages a day for as long. How many pages do they read together?",
    "{name} had {e} {thing} and lost {c} of them. Then the rest doubled {b} times. How many are there?",
    "A train travels at {a} km/h for {b} hours, then at {c} km/h for 2 hours. How far does it go?",
    "{name} earns ${a} an hour and works {b} hours a day, {c} days a month. What does {name} earn in a month?",
    "There are {d} {thing} in {b} equal bags. {name} takes {c} from one bag. How many are left in that bag?",
)
