"""Put a trained drafter where the lab ships it from: in bfloat16, with what is needed to read it.

    python -m tools.train_drafters.export nano --run FOLDER
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from spec_core.draft_models import HOME

MOST_BYTES = 10_000_000


def main() -> None:
    """Write ``assets/drafters/NAME``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drafter", choices=("nano", "nano-universal"))
    parser.add_argument("--run", type=Path, required=True, help="the folder that train wrote")
    options = parser.parse_args()
    folder = HOME / options.drafter
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.to(torch.bfloat16) for name, tensor in load_file(options.run / "best.safetensors").items()}
    about = json.loads((options.run / "best.json").read_text(encoding="utf-8"))
    save_file(weights, folder / "nano.safetensors")
    shutil.copyfile(options.run / "vocabulary.npy", folder / "vocabulary.npy")
    if about["borrows"] is None:
        shutil.copyfile(options.run / "tokenizer.json", folder / "tokenizer.json")
    kept = {name: about[name] for name in ("config", "scale", "borrows", "tokenizer")}
    (folder / "nano.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB, agreement on held-out output {about['agreement']:.3f} after {about['step']} steps")
    if size > MOST_BYTES:
        raise SystemExit(f"more than {MOST_BYTES / 1e6:.0f} MB: make the network smaller")


if __name__ == "__main__":
    main()
