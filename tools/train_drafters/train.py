"""Train ``nano`` on the shards of ``distil``: soft labels of the target over a trimmed vocabulary.

    python -m tools.train_drafters.train --data FOLDER --out FOLDER --minutes 60

Checkpoints are kept as it goes, the best by agreement with the target on held-out greedy
output; starting again goes on from the last one.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from spec_core import models
from spec_core.drafters.copying import copy_hints
from spec_core.drafters.nano_model import NanoConfig, NanoModel

TRIMMED = 12_288
LENGTH = 512
BATCH = 8
PROMPT_WEIGHT = 0.5
HELD_OUT = 8
"""Every so many-th shard is held out."""


def main() -> None:
    """Train until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    runtime.prepare_torch()

    shards = sorted(options.data.glob("shard-????.npz"))
    held_out = shards[::HELD_OUT]
    train = Sequences([path for path in shards if path not in held_out])
    vocabulary = train.frequent_tokens(TRIMMED)
    trainer = Trainer(options.out, vocabulary, options.rate, options.minutes)
    print(f"{train.tokens} tokens in {len(shards) - len(held_out)} shards, vocabulary covers "
          f"{np.isin(train.labels[:, 0], vocabulary).mean():.3f}; {trainer.parameters / 1e6:.1f} M parameters", flush=True)
    trainer.fit(train, Sequences(held_out))


class Sequences:
    """Distilled sequences with their copying hints."""

    def __init__(self, shards: list[Path]) -> None:
        columns: dict[str, list[np.ndarray]] = {}
        for path in shards:
            with np.load(path) as data:
                for name in data.files:
                    columns.setdefault(name, []).append(data[name])
        data = {name: np.concatenate(parts) for name, parts in columns.items()}
        self.ids, self.generated = data["tokens"].astype(np.int64), data["generated"]
        self.labels, self.probs = data["label_tokens"].astype(np.int64), data["label_probs"].astype(np.float32)
        self.starts = np.concatenate([[0], np.cumsum(data["lengths"])])
        self.hints = np.concatenate([copy_hints(self.ids[a:b], 0) for a, b in zip(self.starts, self.starts[1:])], axis=1)

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return len(self.ids)

    def frequent_tokens(self, count: int) -> np.ndarray:
        """The ids that the target most probably emits, rising."""
        mass = np.bincount(self.labels.ravel(), weights=self.probs.ravel())
        return np.sort(np.argsort(-mass)[:count])

    def batches(self, rng: np.random.Generator | None) -> list[np.ndarray]:
        """Row indices (BATCH, LENGTH) into the columns; -1 is padding. Shuffled where there is a generator."""
        order = np.arange(len(self.starts) - 1) if rng is None else rng.permutation(len(self.starts) - 1)
        order = order[np.argsort(np.diff(self.starts)[order] // 64, kind="stable")]  # of similar length
        groups = [order[i:i + BATCH] for i in range(0, len(order), BATCH)]
        result = []
        for group in groups:
            longest = min(LENGTH, max(self.starts[i + 1] - self.starts[i] for i in group))
            rows = np.full((len(group), longest), -1)
            for row, i in zip(rows, group):
                begin, length = self.starts[i], self.starts[i + 1] - self.starts[i]
                kept = min(length, longest)
                row[:kept] = np.arange(begin + length - kept, begin + length)
            result.append(rows)
        return result if rng is None else [result[i] for i in rng.permutation(len(result))]


class Trainer:
    """The model, the borrowed embeddings, and the optimiser."""

    def __init__(self, folder: Path, vocabulary: np.ndarray, rate: float, minutes: float) -> None:
        teacher = AutoModelForCausalLM.from_pretrained(models.path_of(models.DEFAULT), dtype=torch.float32)
        embeddings = teacher.get_input_embeddings().weight.detach()
        self.scale = embeddings.norm(dim=-1).mean().item() / math.sqrt(embeddings.shape[1])
        self.embeddings = embeddings / self.scale
        self.vocabulary = torch.from_numpy(vocabulary)
        self.head = self.embeddings[self.vocabulary].contiguous()
        self.trimmed = torch.full((len(embeddings),), -1)
        self.trimmed[self.vocabulary] = torch.arange(len(vocabulary))
        self.folder, self.rate, self.minutes = folder, rate, minutes
        torch.manual_seed(0)
        self.config = NanoConfig(embeddings.shape[1])
        self.model = NanoModel(self.config)
        for name, parameter in self.model.named_parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.7 / math.sqrt(parameter.shape[1]))
        torch.nn.init.normal_(self.model.out.weight, std=0.02)
        last = folder / "last.safetensors"
        if last.exists():
            self.model.load_state_dict(load_file(last))
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())

    def scores(self, data: Sequences, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (positions, trimmed) of the real positions, and their row indices."""
        safe = np.maximum(rows, 0)
        hints, lengths = torch.from_numpy(data.hints[0][safe]), torch.from_numpy(data.hints[1][safe])
        positions = torch.arange(rows.shape[1]).expand(rows.shape)
        with torch.autocast("cpu", torch.bfloat16):
            features, copy = self.model(self.embeddings[torch.from_numpy(data.ids[safe])], self.embeddings[hints],
                                        lengths, positions, None)
            real = torch.from_numpy(rows >= 0)
            scores = (features[real] @ self.head.T).float()
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
        weight = torch.where(torch.from_numpy(data.generated[where]), 1.0, PROMPT_WEIGHT)
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

    def fit(self, train: Sequences, held_out: Sequences) -> None:
        """AdamW with warm-up and a linear fall to the end of the time."""
        matrices = [p for p in self.model.parameters() if p.ndim == 2]
        vectors = [p for p in self.model.parameters() if p.ndim != 2]
        optimiser = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
                                      lr=self.rate, betas=(0.9, 0.95))
        rng = np.random.default_rng(int(time.time()))
        began = time.monotonic()
        step, best, smooth = 0, 0.0, None
        while True:
            for rows in train.batches(rng):
                elapsed = (time.monotonic() - began) / 60 / self.minutes
                if elapsed >= 1:
                    self._save("last", best, step)
                    return
                optimiser.param_groups[0]["lr"] = optimiser.param_groups[1]["lr"] = (
                    self.rate * min(1.0, (step + 1) / 100) * max(0.02, 1 - elapsed))
                loss = self.loss(train, rows)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimiser.step()
                smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
                step += 1
                if step % 500 == 0:
                    agreed = self.agreement(held_out)
                    print(f"step {step}, {elapsed:.0%}: loss {smooth:.3f}, agreement {agreed:.4f}", flush=True)
                    self._save("last", agreed, step)
                    if agreed > best:
                        best = agreed
                        self._save("best", agreed, step)

    def _save(self, name: str, agreement: float, step: int) -> None:
        weights = {key: value.detach().clone() for key, value in self.model.state_dict().items()}
        save_file(weights, self.folder / f"{name}.partial")
        (self.folder / f"{name}.partial").rename(self.folder / f"{name}.safetensors")
        np.save(self.folder / "vocabulary.npy", self.vocabulary.numpy().astype(np.int32))
        (self.folder / f"{name}.json").write_text(json.dumps(
            {"config": asdict(self.config), "scale": self.scale, "agreement": agreement, "step": step}))


if __name__ == "__main__":
    main()
