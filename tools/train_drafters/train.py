"""Train a shipped drafter on the shards of ``distil``.

    python -m tools.train_drafters.train nano --data FOLDER --out FOLDER --minutes 60

``nano`` learns the target's soft labels over a trimmed vocabulary, on the target's own
embeddings. ``nano-universal`` learns the target's texts in a byte-level BPE of its own.
Checkpoints are kept as it goes, the best by agreement on held-out output; starting again
goes on from the last one, and ``--shipped`` from the drafter in ``assets``.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import json
import math
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from spec_core import models
from spec_core.datastore.encoding import fingerprint
from spec_core.draft_models import HOME
from spec_core.drafters.nano_model import NanoConfig, NanoModel
from spec_core.drafters.token_text import TokenText

from .data import Sequences, texts_of

TRIMMED = 8192
OWN_VOCABULARY, OWN_EMBEDDING = 8000, 192
READ_WEIGHT = 0.4
"""Of a token that the target read, where one that it wrote has 1."""
HELD_OUT = 10
"""Every so many-th shard is held out."""


def main() -> None:
    """Train until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drafter", choices=("nano", "nano-universal"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--shipped", action="store_true", help="go on from the shipped drafter")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.shipped and not (options.out / "last.safetensors").exists():
        take_up_shipped(options.drafter, options.out)
    runtime.prepare_torch()

    shards = sorted(options.data.glob("shard-????.npz"))
    held_out = shards[::HELD_OUT]
    kept = [path for path in shards if path not in held_out]
    tokenizer = models.load_tokenizer(models.DEFAULT)
    if options.drafter == "nano":
        train, test = Sequences.of_shards(kept), Sequences.of_shards(held_out)
        embeddings, scale, vocabulary = borrowed_embeddings(), 1.0, train.frequent_tokens(TRIMMED)
        scale = embeddings.norm(dim=-1).mean().item() / math.sqrt(embeddings.shape[1])
        about = {"borrows": models.DEFAULT, "tokenizer": fingerprint(tokenizer)}
    else:
        own = own_tokenizer(options.out / "tokenizer.json", kept, TokenText(tokenizer))
        text = TokenText(own)
        train, test = (Sequences.of_texts(part, TokenText(tokenizer), text) for part in (kept, held_out))
        torch.manual_seed(1)
        embeddings, scale = torch.nn.Parameter(torch.randn(len(own), OWN_EMBEDDING)), 1.0
        vocabulary = np.arange(len(own))
        about = {"borrows": None, "tokenizer": fingerprint(own)}
    trainer = Trainer(options.out, embeddings, scale, vocabulary, about)
    print(f"{train.tokens} tokens in {len(kept)} shards, vocabulary covers "
          f"{np.isin(train.labels[:, 0], vocabulary).mean():.3f}; {trainer.parameters / 1e6:.1f} M parameters", flush=True)
    trainer.fit(train, test, options.minutes, options.rate)


def take_up_shipped(name: str, out: Path) -> None:
    """Make the shipped drafter the last checkpoint."""
    weights = load_file(HOME / name / "nano.safetensors")
    save_file({key: value.float() for key, value in weights.items()}, out / "last.safetensors")
    if (HOME / name / "tokenizer.json").exists():
        shutil.copyfile(HOME / name / "tokenizer.json", out / "tokenizer.json")


def borrowed_embeddings() -> torch.Tensor:
    """The target's embeddings, float32."""
    teacher = AutoModelForCausalLM.from_pretrained(models.path_of(models.DEFAULT), dtype=torch.float32)
    return teacher.get_input_embeddings().weight.detach()


def own_tokenizer(path: Path, shards: list[Path], target: TokenText) -> PreTrainedTokenizerFast:
    """A byte-level BPE of the distilled texts, trained once."""
    if not path.exists():
        bpe = ByteLevelBPETokenizer()
        bpe.train_from_iterator(texts_of(shards, target), vocab_size=OWN_VOCABULARY, min_frequency=2, show_progress=False)
        bpe.save(str(path))
    return PreTrainedTokenizerFast(tokenizer_file=str(path))


class Trainer:
    """The model, its embeddings, and the optimiser.

    Args:
        folder: of the checkpoints.
        embeddings: (vocabulary, width); a parameter is trained with the rest.
        scale: that they are divided by.
        vocabulary: the ids that are emitted, rising.
        about: what ``nano.json`` says beside the shape.
    """

    def __init__(self, folder: Path, embeddings: torch.Tensor, scale: float, vocabulary: np.ndarray, about: dict) -> None:
        self.folder, self.embeddings, self.scale, self.about = folder, embeddings, scale, about
        self.vocabulary = torch.from_numpy(vocabulary)
        self.trimmed = torch.full((len(embeddings) + 1,), -1)  # label -1 finds the last place
        self.fast_bfloat16 = runtime.choose_dtype("auto", torch.device("cpu")) == torch.bfloat16
        self.trimmed[self.vocabulary] = torch.arange(len(vocabulary))
        torch.manual_seed(0)
        self.config = NanoConfig(embeddings.shape[1])
        self.model = NanoModel(self.config)
        for parameter in self.model.parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.7 / math.sqrt(parameter.shape[1]))
        torch.nn.init.normal_(self.model.out.weight, std=0.002)
        last = folder / "last.safetensors"
        if last.exists():
            self._load(load_file(last))
        self.learned = [*self.model.parameters(), *([embeddings] if embeddings.requires_grad else [])]
        self.parameters = sum(parameter.numel() for parameter in self.learned)

    def scores(self, data: Sequences, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (positions, trimmed) of the real positions, and their row indices."""
        safe = np.maximum(rows, 0)
        hints, lengths = torch.from_numpy(data.hints[0][safe]), torch.from_numpy(data.hints[1][safe])
        positions = torch.arange(rows.shape[1]).expand(rows.shape)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.fast_bfloat16):
            features, copy = self.model(self.embeddings[torch.from_numpy(data.ids[safe])] / self.scale,
                                        self.embeddings[hints] / self.scale, lengths, positions, None)
            real = torch.from_numpy(rows >= 0)
            scores = (features[real] @ (self.embeddings[self.vocabulary] / self.scale).T).float()
        index = self.trimmed[hints[real]]
        known = (index >= 0) & (lengths[real] > 0)
        at = known.nonzero().squeeze(-1)
        scores = scores.index_put((at, index[at]), copy[real].float()[at], accumulate=True)
        return scores, torch.from_numpy(rows[rows >= 0])

    def loss(self, data: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Cross entropy with the target's distribution, weighted by where it comes from."""
        scores, where = self.scores(data, rows)
        labels = self.trimmed[torch.from_numpy(data.labels[where])]
        probs = torch.from_numpy(data.probs[where]) * (labels >= 0)
        log_q = scores.log_softmax(-1).gather(1, labels.clamp(min=0))
        weight = torch.where(torch.from_numpy(data.generated[where]), 1.0, READ_WEIGHT)
        return -((probs * log_q).sum(-1) * weight).sum() / weight.sum()

    @torch.no_grad()
    def agreement(self, data: Sequences) -> float:
        """Share of generated positions where both choose the same token."""
        right = total = 0
        for rows in data.batches(None):
            scores, where = self.scores(data, rows)
            generated = torch.from_numpy(data.generated[where])
            chosen = self.vocabulary[scores.argmax(-1)]
            right += int((chosen == torch.from_numpy(data.labels[where][:, 0]))[generated].sum())
            total += int(generated.sum())
        return right / total

    def fit(self, train: Sequences, held_out: Sequences, minutes: float, rate: float) -> None:
        """AdamW with warm-up and a linear fall to the end of the time."""
        matrices = [p for p in self.learned if p.ndim == 2 and p is not self.embeddings]
        others = [p for p in self.learned if p.ndim != 2 or p is self.embeddings]
        optimiser = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}],
                                      lr=rate, betas=(0.9, 0.95))
        rng = np.random.default_rng(int(time.time()))
        began, tested = time.monotonic(), 0.0
        step, best, smooth = 0, 0.0, None
        while True:
            for rows in train.batches(rng):
                elapsed = (time.monotonic() - began) / 60 / minutes
                if elapsed >= 1 or elapsed - tested > 0.08:
                    tested, agreed = elapsed, self.agreement(held_out)
                    print(f"step {step}, {elapsed:.0%}: loss {smooth:.3f}, agreement {agreed:.4f}", flush=True)
                    self._save("last", agreed, step)
                    if agreed > best:
                        best = agreed
                        self._save("best", agreed, step)
                    if elapsed >= 1:
                        return
                for group in optimiser.param_groups:
                    group["lr"] = rate * min(1.0, (step + 1) / 100) * max(0.02, 1 - elapsed)
                loss = self.loss(train, rows)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.learned, 1.0)
                optimiser.step()
                smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
                step += 1

    def _save(self, name: str, agreement: float, step: int) -> None:
        weights = {key: value.detach().clone() for key, value in self.model.state_dict().items()}
        if self.embeddings.requires_grad:
            weights["embeddings"] = self.embeddings.detach().clone()
        save_file(weights, self.folder / f"{name}.partial")
        (self.folder / f"{name}.partial").rename(self.folder / f"{name}.safetensors")
        np.save(self.folder / "vocabulary.npy", self.vocabulary.numpy().astype(np.int32))
        (self.folder / f"{name}.json").write_text(json.dumps(
            {"config": asdict(self.config), "scale": self.scale, **self.about, "agreement": agreement, "step": step}))

    def _load(self, weights: dict[str, torch.Tensor]) -> None:
        if self.embeddings.requires_grad:
            with torch.no_grad():
                self.embeddings.copy_(weights.pop("embeddings"))
        self.model.load_state_dict(weights)


if __name__ == "__main__":
    main()
