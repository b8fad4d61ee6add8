"""Knob channels_last = off | on: the memory format of images and of the weights of convolutions over them."""

import weakref

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from redline._outermost import remember
from redline._stand_in import replace


class MemoryFormatKnob:
    """`on` is None if the knob is not set. install() once; enter_model() before each outermost forward."""

    def __init__(self, on):
        self.on = on
        self.is_on = False  # the weights of the model that see_model() saw last are laid out so
        self.has_convolution = False  # a called model has weights of four dimensions
        self._laid_out = set()  # ids of models whose format was set
        self._changes = 0  # of formats of weights, or of the states of optimizers
        self._followed = weakref.WeakKeyDictionary()  # optimizer: the change that its state has followed

    def install(self):
        if self.on is not None:
            replace(nn.parallel.DistributedDataParallel, "__init__", self._make_ddp)
            replace(Optimizer, "load_state_dict", self._load_state)
            register_optimizer_step_pre_hook(self._before_step)

    def enter_model(self, model, inputs):
        """Gives the inputs in the model's format."""
        if self.on is None:
            return inputs
        self._lay_out(model)
        return tuple(self._laid_out_input(value) for value in inputs)

    def look_for_convolution(self, model):
        if not self.has_convolution:
            self.has_convolution = next(_weights_over_images(model), None) is not None

    def see_model(self, model):
        self.is_on = any(
            weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()
            for weight in _weights_over_images(model)
        )

    def _make_ddp(self, make, wrapper, module, *args, **kwargs):
        # DDP copies the gradients' strides into its buckets, so the format must be set before it.
        self._lay_out(module)
        make(wrapper, module, *args, **kwargs)
        remember(wrapper, self._laid_out)

    def _lay_out(self, module):
        # A lazy layer has no shape before its first forward; the next call lays it out.
        if id(module) not in self._laid_out and not any(map(is_lazy, module.parameters())):
            remember(module, self._laid_out)
            # Module.to() would also take weights of five dimensions, as of convolutions over volumes, and fail.
            form = self._format()
            self._changes += 1
            module._apply(lambda tensor: tensor.contiguous(memory_format=form) if tensor.dim() == 4 else tensor)

    def _load_state(self, load, optimizer, *args, **kwargs):
        load(optimizer, *args, **kwargs)
        self._changes += 1

    def _before_step(self, optimizer, args, kwargs):
        """Gives the state the format of its weights. Fused optimizers on the CPU go through both in memory's order, and
        a checkpoint has the format that the weights had when it was written."""
        if self._followed.get(optimizer) == self._changes:
            return
        self._followed[optimizer] = self._changes
        for weight, state in optimizer.state.items():
            if not isinstance(weight, torch.Tensor) or weight.dim() != 4:
                continue
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and value.shape == weight.shape and value.stride() != weight.stride():
                    state[key] = torch.empty_like(value, memory_format=self._format()).copy_(value)

    def _laid_out_input(self, value):
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return value.contiguous(memory_format=self._format())
        return value

    def _format(self):
        return torch.channels_last if self.on else torch.contiguous_format


def _weights_over_images(model):
    return (weight for weight in model.parameters() if not is_lazy(weight) and weight.dim() == 4)
