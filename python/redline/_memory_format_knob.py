"""Knob channels_last = off | on: the memory format of images and of the weights of convolutions over them."""

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from redline._stand_in import replace


class MemoryFormatKnob:
    """`on` is None if the knob is not set. install() once; enter_model() before each outermost forward."""

    def __init__(self, on):
        self.on = on
        self.is_on = False  # the weights of the model that see_model() saw last are laid out so
        self.has_convolution = False  # a called model has weights of four dimensions
        self._laid_out = set()  # ids of models whose format was set

    def install(self):
        if self.on is not None:
            replace(nn.parallel.DistributedDataParallel, "__init__", self._make_ddp)

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
        self._laid_out.add(id(wrapper))

    def _lay_out(self, module):
        # A lazy layer has no shape before its first forward; the next call lays it out.
        if id(module) not in self._laid_out and not any(map(is_lazy, module.parameters())):
            self._laid_out.add(id(module))
            # Module.to() would also take weights of five dimensions, as of convolutions over volumes, and fail.
            form = self._format()
            module._apply(lambda tensor: tensor.contiguous(memory_format=form) if tensor.dim() == 4 else tensor)

    def _laid_out_input(self, value):
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return value.contiguous(memory_format=self._format())
        return value

    def _format(self):
        return torch.channels_last if self.on else torch.contiguous_format


def _weights_over_images(model):
    return (weight for weight in model.parameters() if not is_lazy(weight) and weight.dim() == 4)
