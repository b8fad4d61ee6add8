"""Trains a small random GPT-2 with transformers' Trainer, or with --model bert a classifier with padding."""

import argparse
import tempfile

import torch
from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, Trainer,
                          TrainerCallback, TrainingArguments)

from outcome import Outcome, all_knobs, leave_together

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=("gpt2", "bert"), default="gpt2")
parser.add_argument("--per_device_train_batch_size", type=int, default=8)
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--streamed", action="store_true", help="from an IterableDataset, which rank 0 reads for all")
parser.add_argument("--evaluate", action="store_true", help="after each step; the training reads in order, too")
parser.add_argument("--by_length", action="store_true", help="one epoch of 128 samples, those of like length together")
arguments = parser.parse_args()
torch.manual_seed(0)


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, index):
        ids = (torch.arange(24) * (index + 1)) % 97
        labels = ids if arguments.model == "gpt2" else index % 2
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def training_texts():
    if arguments.by_length:
        return torch.utils.data.Subset(Texts(), range(128))
    return StreamOfTexts() if arguments.streamed else Texts()


class StreamOfTexts(torch.utils.data.IterableDataset):
    def __iter__(self):
        return map(Texts().__getitem__, range(2048))


class Losses(TrainerCallback):
    """Keeps each logged loss, and at the end the arguments with which the loader was built."""

    def __init__(self):
        self.outcome = Outcome()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            # Not args.train_batch_size, which a knob does not change.
            loader = kwargs["train_dataloader"]
            batch = loader.base_dataloader.batch_size * args.world_size if arguments.streamed else loader.total_batch_size
            self.outcome.step(logs["loss"], batch * args.gradient_accumulation_steps)


small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
if arguments.model == "gpt2":
    config = GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
                        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    model = GPT2LMHeadModel(config)
else:
    model = BertForSequenceClassification(BertConfig(vocab_size=100, **small))
with tempfile.TemporaryDirectory() as folder:
    losses = Losses()
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            folder, per_device_train_batch_size=arguments.per_device_train_batch_size, max_steps=-1 if arguments.by_length else arguments.steps, num_train_epochs=1,
            gradient_accumulation_steps=arguments.gradient_accumulation_steps, logging_steps=1, save_strategy="no",
            report_to=[], use_cpu=True, disable_tqdm=True, seed=0,
            train_sampling_strategy=("sequential" if arguments.evaluate else
                                     "group_by_length" if arguments.by_length else "random"),
            eval_strategy="steps" if arguments.evaluate else "no", eval_steps=1),
        train_dataset=training_texts(), eval_dataset=torch.utils.data.Subset(Texts(), range(24)), callbacks=[losses])
    trainer.train()
    loader = trainer.callback_handler.train_dataloader
    knobs = all_knobs(getattr(loader, "base_dataloader", loader), trainer.model_wrapped)
    evaluated = trainer.callback_handler.eval_dataloader
    losses.outcome.print(knobs=knobs, evaluated=evaluated and evaluated.total_batch_size,
                         planned=trainer.state.max_steps)
if trainer.accelerator.num_processes > 1:
    leave_together()
