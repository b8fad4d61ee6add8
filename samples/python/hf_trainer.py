"""transformers' Trainer on a small GPT-2 with random weights: nothing is downloaded.

    python hf_trainer.py --steps 20
    redline record -- python hf_trainer.py          records it as it is
    autotune -- python hf_trainer.py --steps 100000        finds batch size, workers and precision

Needs the packages transformers and accelerate.
"""

import argparse
import tempfile

import torch

try:
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}. First: pip install transformers accelerate (docs/guide/trainers.md)") from None


class Sequences(torch.utils.data.Dataset):
    """Numbers in constant steps, as tokens."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        tokens = (index + torch.arange(64) * (1 + index % 7)) % 97
        return {"input_ids": tokens, "labels": tokens}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bf16", action="store_true")
    arguments = parser.parse_args()

    model = GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=64, n_embd=64, n_layer=2, n_head=4,
                                       bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as folder:
        training = TrainingArguments(
            folder,
            per_device_train_batch_size=arguments.batch_size,
            max_steps=arguments.steps,
            bf16=arguments.bf16,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        result = Trainer(model, training, train_dataset=Sequences()).train()
    rate = result.metrics["train_samples_per_second"]
    print(f"loss {result.training_loss:.4f} samples/s {rate:.1f}")


if __name__ == "__main__":
    main()
