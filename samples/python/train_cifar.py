"""Trains a small ResNet on CIFAR-10, or on generated images of the same shape.

    python train_cifar.py --steps 200
    torchrun --nproc_per_node 2 train_cifar.py --batch-size 64 --num-workers 1 --amp bf16
    python train_cifar.py --data cifar-10-batches-bin --epochs 10

Uses the GPUs where there are some, else the CPU. Ends in one line with the mean loss of the last
steps, the accuracy on images that it was not trained on, and the samples per second of all ranks.
"""

import argparse
import collections
import contextlib
import math
import os
import pathlib
import sys
import time
import weakref

import numpy
import torch
import torch.distributed
import torch.nn.functional as functional
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

CLASSES = 10
SIDE = 32
MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
DEVIATION = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)
AMP_TYPES = {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def fail(message):
    sys.exit(f"train_cifar.py: {message}")


class CifarFiles:
    """Images of CIFAR-10's binary files: records of one label byte and 3x32x32 colour bytes."""

    RECORD = 1 + 3 * SIDE * SIDE

    def __init__(self, paths):
        records = numpy.concatenate([self._read(path) for path in paths])
        self.labels = records[:, 0].astype(numpy.int64)
        self.pixels = records[:, 1:].reshape(-1, 3, SIDE, SIDE)

    def _read(self, path):
        data = numpy.fromfile(path, dtype=numpy.uint8)
        if data.size == 0 or data.size % self.RECORD:
            fail(f"{path}: {data.size} bytes are not records of {self.RECORD} bytes")
        records = data.reshape(-1, self.RECORD)
        if records[:, 0].max() >= CLASSES:
            fail(f"{path}: label {records[:, 0].max()} is not one of 0 to 9")
        return records

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pixels[index], int(self.labels[index])


class GeneratedStripes:
    """Noisy stripes in two random colours; their direction and width make the class.

    Drawn when asked for, so that any number of them costs neither start-up time nor memory. The
    same seed and index give the same image.
    """

    def __init__(self, size, seed):
        self.size = size
        self.seed = seed
        rows, columns = numpy.mgrid[0:SIDE, 0:SIDE].astype(numpy.float32)
        self.waves = []
        for label in range(CLASSES):
            # Angles from 0 to 90 degrees only: a mirrored image stays apart from other classes.
            angle = (label % 5) * math.pi / 8
            distance = columns * math.cos(angle) + rows * math.sin(angle)
            self.waves.append(distance * (2 * math.pi / (5 if label < 5 else 10)))

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        random = numpy.random.default_rng((self.seed, index))
        label = int(random.integers(CLASSES))
        stripes = numpy.sin(self.waves[label] + random.uniform(0, 2 * math.pi))
        centre = random.uniform(90, 165, size=(3, 1, 1))
        contrast = random.choice((-1, 1)) * random.uniform(25, 60, size=(3, 1, 1))
        noise = random.normal(0, 15, size=(3, SIDE, SIDE))
        return (centre + contrast * stripes + noise).clip(0, 255).astype(numpy.uint8), label


class AugmentedImages(Dataset):
    """Normalised float images; those for training are cropped, mirrored and tinted at random."""

    def __init__(self, images, training):
        self.images = images
        self.training = training

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        pixels, label = self.images[index]
        image = torch.from_numpy(pixels).float().div_(255)
        if self.training:
            image = tint(mirror(crop(image)))
        return (image - MEAN) / DEVIATION, label


def crop(image, padding=4):
    top, left = torch.randint(2 * padding + 1, (2,)).tolist()
    padded = functional.pad(image, (padding, padding, padding, padding))
    return padded[:, top : top + SIDE, left : left + SIDE]


def mirror(image):
    return image.flip(2) if torch.rand(()) < 0.5 else image


def tint(image, strength=0.2):
    """Changes brightness, contrast and saturation by up to `strength` each."""
    brightness, contrast, saturation = torch.empty(3).uniform_(1 - strength, 1 + strength).tolist()
    image = (image * brightness).clamp(0, 1)
    image = torch.lerp(image.mean(), image, contrast).clamp(0, 1)
    return torch.lerp(image.mean(0, keepdim=True), image, saturation).clamp(0, 1)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a 1x1 short cut; halves the height and the width."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.convolution1 = nn.Conv2d(channels_in, channels_out, 3, 2, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.convolution2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.short_cut = nn.Conv2d(channels_in, channels_out, 1, 2, bias=False)

    def forward(self, x):
        y = functional.relu(self.norm1(self.convolution1(x)))
        y = self.norm2(self.convolution2(y))
        return functional.relu(y + self.short_cut(x))


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.blocks = nn.Sequential(
            ResidualBlock(16, 16), ResidualBlock(16, 32), ResidualBlock(32, 64)
        )
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 4 * 4, 2048), nn.ReLU(), nn.Linear(2048, CLASSES)
        )

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class Ranks:
    """Where this process stands: alone, or one of those that torchrun started."""

    def __init__(self):
        self.rank = int(os.environ.get("RANK", 0))
        self.world_size = int(os.environ.get("WORLD_SIZE", 1))
        self.distributed = "RANK" in os.environ
        gpus = torch.cuda.device_count()
        local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.device = torch.device("cuda", local_rank % gpus) if gpus else torch.device("cpu")
        if gpus:
            torch.cuda.set_device(self.device)
        if self.distributed:
            # NCCL wants a GPU for each rank.
            own_gpu = gpus >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
            torch.distributed.init_process_group("nccl" if own_gpu and gpus else "gloo")

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        if not self.distributed:
            return
        if error is None:
            self.sum([0])  # wait for the others
        torch.distributed.destroy_process_group()

    def sum(self, values):
        """The sums over all ranks of a list of numbers."""
        sums = torch.tensor(values, dtype=torch.float64, device=self.device)
        if self.distributed:
            torch.distributed.all_reduce(sums)
        result, held = sums.tolist(), weakref.ref(sums)
        # A DDP model keeps Gloo's threads alive to the end of the process, and one that lets go of
        # a tensor while Python ends aborts it (pytorch/pytorch#179291).
        del sums
        while self.device.type == "cpu" and held() is not None:
            time.sleep(0.001)
        return result


class Trainer:
    def __init__(self, arguments, ranks):
        self.arguments = arguments
        self.ranks = ranks
        self.amp_type = AMP_TYPES[arguments.amp]
        self.layout = torch.channels_last if arguments.channels_last else torch.contiguous_format
        self.network = SmallResNet().to(ranks.device, memory_format=self.layout)
        self.model = self.network
        if ranks.distributed:
            self.model = nn.parallel.DistributedDataParallel(self.network)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=arguments.lr, weight_decay=0.01
        )
        self.scaler = torch.amp.GradScaler(
            ranks.device.type, enabled=self.amp_type is torch.float16
        )

    def loss_of(self, images, labels):
        device = self.ranks.device
        images = images.to(device, non_blocking=True, memory_format=self.layout)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=self.amp_type, enabled=self.amp_type is not None):
            return functional.cross_entropy(self.model(images), labels)

    def step(self, batches):
        """One optimizer step on a few batches; returns their mean loss as a tensor."""
        total = 0.0
        self.optimizer.zero_grad()
        for place, (images, labels) in enumerate(batches, start=1):
            with self.gradients_kept_local(place < len(batches)):
                loss = self.loss_of(images, labels) / len(batches)
                self.scaler.scale(loss).backward()
            total = total + loss.detach()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return total

    def gradients_kept_local(self, wanted):
        if wanted and self.ranks.distributed:
            return self.model.no_sync()
        return contextlib.nullcontext()

    @torch.no_grad()
    def accuracy(self, images):
        """The share of images that are told right, each rank looking at its part of them."""
        part = Subset(images, range(self.ranks.rank, len(images), self.ranks.world_size))
        self.network.eval()
        right = 0
        for pixels, labels in DataLoader(part, batch_size=250):
            scores = self.network(pixels.to(self.ranks.device, memory_format=self.layout))
            right += int((scores.argmax(1).cpu() == labels).sum())
        self.network.train()
        right, seen = self.ranks.sum([right, len(part)])
        return right / seen


def optimizer_batches(arguments, images, ranks):
    """Yields, for each optimizer step of the whole job, the list of batches that go into it."""
    sampler = DistributedSampler(images, seed=arguments.seed) if ranks.distributed else None
    loader = DataLoader(
        images,
        batch_size=arguments.batch_size,
        shuffle=sampler is None,
        sampler=sampler,
        num_workers=arguments.num_workers,
        pin_memory=arguments.pin_memory,
        prefetch_factor=arguments.prefetch_factor,
        persistent_workers=arguments.persistent_workers,
        drop_last=True,
    )
    if len(loader) < arguments.accumulation:
        fail(
            f"{len(images)} images on {ranks.world_size} ranks are too few for "
            f"{arguments.accumulation} x {arguments.batch_size} of them a step"
        )
    epoch = step = 0
    while epoch < arguments.epochs or arguments.steps:
        if sampler:
            sampler.set_epoch(epoch)
        epoch += 1
        batches = []
        for batch in loader:
            batches.append(batch)
            if len(batches) == arguments.accumulation:
                yield batches
                batches = []
                step += 1
                if step == arguments.steps:
                    return


def train(arguments, trainer, images, ranks):
    """Trains to the end; returns the losses of the last steps and this rank's samples/s."""
    losses = collections.deque(maxlen=20)
    steps = samples = 0
    start = time.perf_counter()
    for batches in optimizer_batches(arguments, images, ranks):
        losses.append(trainer.step(batches))
        steps += 1
        if steps == 1:
            # Start-up of workers and libraries is not training: the clock starts after step 1.
            first_samples = sum(len(labels) for _, labels in batches)
            float(losses[-1])
            first_seconds = time.perf_counter() - start
            start = time.perf_counter()
        else:
            samples += sum(len(labels) for _, labels in batches)
        if ranks.rank == 0 and steps % arguments.log_every == 0:
            print(f"step {steps} loss {float(losses[-1]):.4f}", flush=True)
    losses = [float(loss) for loss in losses]
    if steps == 1:
        return losses, first_samples / first_seconds
    return losses, samples / (time.perf_counter() - start)


def load_images(arguments):
    """The images for training and those for testing."""
    if arguments.data is None:
        train_images = GeneratedStripes(arguments.train_size, 2 * arguments.seed)
        test_images = GeneratedStripes(1000, 2 * arguments.seed + 1)
    else:
        train_paths = sorted(arguments.data.glob("data_batch_*.bin"))
        test_path = arguments.data / "test_batch.bin"
        if not train_paths or not test_path.is_file():
            fail(
                f"{arguments.data}: no data_batch_*.bin and test_batch.bin. They are in the "
                "binary version of CIFAR-10 (cifar-10-binary.tar.gz)"
            )
        train_images = CifarFiles(train_paths)
        test_images = CifarFiles([test_path])
    return AugmentedImages(train_images, True), AugmentedImages(test_images, False)


def at_least(minimum):
    def parse(text):
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {minimum} or more")
        return int(text)

    return parse


def on_or_off(text):
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither on nor off")
    return text == "on"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    switch = {"type": on_or_off, "nargs": "?", "const": True, "default": False, "metavar": "on|off"}
    add = parser.add_argument
    add("--batch-size", type=at_least(1), default=32, help="images a rank in one batch (32)")
    add("--accumulation", type=at_least(1), default=1, help="batches in one optimizer step (1)")
    add("--epochs", type=at_least(1), default=10, help="times through the images (10)")
    add("--steps", type=at_least(1), help="optimizer steps, instead of --epochs")
    add("--lr", type=float, default=1e-3, help="learning rate of AdamW (0.001)")
    add("--seed", type=at_least(0), default=0, help="of the weights and of all randomness (0)")
    add("--amp", choices=AMP_TYPES, default="off", help="autocast to this type (off)")
    add("--num-workers", type=at_least(0), default=0, help="DataLoader workers a rank (0)")
    add("--prefetch-factor", type=at_least(1), help="batches that each worker makes ahead (2)")
    add("--persistent-workers", **switch, help="keep the workers from epoch to epoch")
    add("--pin-memory", **switch, help="page-locked batches, for faster copies to the GPU")
    add("--cudnn-benchmark", **switch, help="let cuDNN try its algorithms first")
    add("--channels-last", **switch, help="keep images and weights in NHWC order")
    add("--data", type=pathlib.Path, metavar="DIR", help="folder of CIFAR-10's binary files")
    add("--train-size", type=at_least(1), default=50000, help="generated images (50000)")
    add("--log-every", type=at_least(1), default=50, help="steps from one printed loss to the next")
    add("--print-loss-bits", action="store_true", help="print the last loss of rank 0 exactly")
    arguments = parser.parse_args()
    if arguments.num_workers == 0 and arguments.prefetch_factor:
        parser.error("--prefetch-factor needs --num-workers 1 or more")
    if arguments.num_workers == 0 and arguments.persistent_workers:
        parser.error("--persistent-workers needs --num-workers 1 or more")
    return arguments


def main():
    arguments = parse_arguments()
    torch.backends.cudnn.benchmark = arguments.cudnn_benchmark
    with Ranks() as ranks:
        train_images, test_images = load_images(arguments)
        torch.manual_seed(arguments.seed)
        trainer = Trainer(arguments, ranks)
        torch.manual_seed(arguments.seed + ranks.rank)
        losses, rate = train(arguments, trainer, train_images, ranks)
        loss, rate = ranks.sum([sum(losses) / len(losses) / ranks.world_size, rate])
        accuracy = trainer.accuracy(test_images)
        if ranks.rank == 0:
            if arguments.print_loss_bits:
                print(f"loss bits {losses[-1].hex()}")
            print(f"loss {loss:.4f} accuracy {accuracy:.2f} samples/s {rate:.1f}", flush=True)


if __name__ == "__main__":
    main()
