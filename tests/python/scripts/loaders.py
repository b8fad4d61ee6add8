"""Trains from a DataLoader that reads in order, in the ways in which tutorials and examples write it. Prints the sizes
of the batches with which it trained and evaluated."""

import argparse
import operator
import pickle
import types

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, TensorDataset


class Batches(IterableDataset):
    """A dataset that makes its batches itself."""

    def __init__(self, inputs):
        self.inputs = inputs

    def __iter__(self):
        yield from self.inputs.split(8)


class Lines(Dataset):
    def __len__(self):
        return 70

    def __getitem__(self, index):
        return torch.full((8,), index % 50)


class Repeat:
    """The batches of a sampler again and again, as in timm and ultralytics."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class InfiniteLoader(DataLoader):
    """One iterator, and its workers, for all epochs."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        object.__setattr__(self, "batch_sampler", Repeat(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        return (next(self.iterator) for _ in range(len(self)))


class Grouped:
    """Each group of samples several times, as trl's sampler for GRPO."""

    batch_size = 16
    repeat_count = 2

    def __iter__(self):
        for begin in range(0, 64, self.batch_size):
            for _ in range(self.repeat_count):
                yield from range(begin, begin + self.batch_size)


class ByLength:
    """A sampler as transformers' LengthGroupedSampler, in an order of its own."""

    def __len__(self):
        return 70

    def __iter__(self):
        return iter(torch.randperm(70).tolist())


tqdm = types.ModuleType("tqdm.std")
exec("def total(loader): return len(loader)", tqdm.__dict__)


def sequence_first(lines):
    return torch.stack(lines, dim=1)  # time x batch


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, inputs):
        return self.head(self.embedding(inputs) if inputs.dtype == torch.long else inputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("mnist", "quickstart", "anew", "sampler", "batches", "sequence", "sharded",
                                        "repeated", "repeated_in_order", "repeated_early", "grouped", "shuffled_test", "vocabulary", "scanned",
                                        "one_by_one", "one_by_lambda", "of_batches",
                                        "planned_by_length", "planned_early", "planned_in_order", "progress_in_order"))
    how = parser.parse_args().how
    torch.manual_seed(0)
    inputs = torch.randn(70, 4)
    data = TensorDataset(inputs)

    def train_loader(epoch):
        if how == "sharded":  # each epoch has another part of the data
            return DataLoader(TensorDataset(inputs[epoch:]), batch_size=16)
        if how == "batches":
            return DataLoader(Batches(inputs), batch_size=None)
        if how == "sampler":
            batches = [list(range(i, min(i + 16, 70))) for i in range(0, 70, 16)]
            return DataLoader(data, batch_sampler=batches)
        if how == "of_batches":  # the data set makes the batch
            batches = BatchSampler(SequentialSampler(inputs), 16, drop_last=False)
            return DataLoader(inputs, sampler=batches, collate_fn=lambda batch: batch[0])
        if how == "one_by_one":  # detectron2 puts them into batches itself
            return DataLoader(inputs, collate_fn=operator.itemgetter(0))
        if how == "one_by_lambda":
            return DataLoader(inputs, shuffle=True, collate_fn=lambda batch: batch[0])
        if how == "grouped":
            return DataLoader(data, batch_size=16, sampler=Grouped())
        if how in ("planned_by_length", "planned_early"):
            return DataLoader(data, batch_size=16, sampler=ByLength())
        if how.startswith("repeated"):
            return InfiniteLoader(data, batch_size=16, shuffle=how == "repeated", drop_last=True)
        if how == "shuffled_test":
            return DataLoader(data, batch_size=16, shuffle=True)
        if how == "sequence":
            return DataLoader(Lines(), batch_size=16, collate_fn=sequence_first)
        return DataLoader(data, batch_size=16)

    test = DataLoader(Lines() if how == "sequence" else data, batch_size=10, shuffle=how == "shuffled_test")
    model = Model() if how == "repeated_in_order" else None
    loader = train_loader(0)
    pickle.dumps(test)  # as it is given to spawned ranks
    planned = len(loader) if how == "planned_early" else None
    if how == "vocabulary":  # flair makes its dictionaries so
        assert {len(values) for (values,) in DataLoader(data, batch_size=1)} == {1}
    if how == "quickstart":
        for (values,) in test:
            print(f"Shape of X: {values.shape}")
            break
    model = model or Model()
    if how in ("planned_by_length", "planned_in_order"):
        planned = len(loader)
    elif how == "progress_in_order":
        planned = tqdm.total(loader)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if how == "scanned":
        print("mean", sum(values[0].mean() for (values,) in DataLoader(data, batch_size=1)) / 70)
    trained, evaluated = [], []
    for epoch in range(3):
        model.train()
        for batch in loader if how not in ("anew", "sharded") else train_loader(epoch):
            values = batch[0] if isinstance(batch, list) else batch
            trained.append(values.shape[1] if how == "sequence" else values.shape[0])
            optimizer.zero_grad()
            model(values).square().mean().backward()
            optimizer.step()
        model.eval()
        for batch in test:
            with torch.no_grad():
                values = batch[0] if isinstance(batch, list) else batch
                evaluated.append(len(values))
                model(values)
    print(f"trained {max(trained)} {sum(trained)} evaluated {max(evaluated)} steps {len(trained)} planned {planned}")


if __name__ == "__main__":
    main()
