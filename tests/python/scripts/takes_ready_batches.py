"""Takes each batch once it lies in the queue of the loader's worker, but the fifth one, which comes late.

With "pinned" there are two workers, and the sixth batch lies in the queue when the fifth is wanted. A thread takes the
batches out of that queue first and puts them in one of its own, as torch's does that pins memory for a GPU.
"""

import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 4:
            time.sleep(0.3)
        return torch.ones(4)


def pass_on(batches):
    """As torch.utils.data._utils.pin_memory does, but for the GPU."""
    of_workers, of_thread = batches._data_queue, queue.Queue()
    batches._data_queue = of_thread

    def move():
        for _ in range(8):
            of_thread.put(of_workers.get())

    threading.Thread(target=move, daemon=True).start()


def wait_for(batches, number):
    taken = batches._data_queue
    if not isinstance(taken, queue.Queue):
        taken._reader.poll(None)
    elif len(batches._task_info[number]) < 2:  # else the iterator put it aside when it waited for another
        with taken.not_empty:
            taken.not_empty.wait_for(lambda: number in [item[0] for item in taken.queue])


def main():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    is_pinned = "pinned" in sys.argv
    batches = iter(DataLoader(Samples(), batch_size=1, num_workers=2 if is_pinned else 1))
    if is_pinned:
        pass_on(batches)
    for number in range(8):
        if number != 4:
            wait_for(batches, number)
        elif is_pinned:
            wait_for(batches, 5)
        model(next(batches)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
