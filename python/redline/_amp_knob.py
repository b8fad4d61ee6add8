"""Knob amp = off | bf16 | fp16: automatic mixed precision in a script that was not written for it,
or a precision other than the script asks for.

An autocast region begins with the forward of a model that trains, and ends when backward begins. So the loss is
computed within the region, as with the usual `with torch.autocast(...)` around both. A model that runs without
gradients gets a region around its forward alone. The knob's value replaces that of the script's outermost autocast. If
a model, a loss or the script's own region switches autocast off inside, this is deliberate, and it stays off.

With fp16 the loss must be scaled. If the script uses a GradScaler, it is enabled or disabled to suit the knob.
Otherwise OwnScaling scales around backward and the optimizer's step.
"""

import functools
import sys
import weakref

import torch
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler, OptState
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from redline._accumulation_knob import CLIPPING, gradient_functions, is_a_loss
from redline._data_parallel import watch_data_parallel
from redline._optimizer_steps import parameters_of
from redline._outermost import inside_a_model
from redline._stand_in import replace
from redline._training_signs import readable_twice

TYPES = {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}

ENABLED = 5  # `enabled` is the argument of GradScaler at this index

_enter_autocast = autocast.__enter__  # PyTorch's own, for the regions that are ours
_exit_autocast = autocast.__exit__


def device_of(module):
    """The kind of device on which the model runs; None where autocast knows it not: Keras first calls a model on "meta",
    to see what it returns."""
    device = next(module.parameters()).device.type
    return device if torch.amp.is_autocast_available(device) else None


class AmpKnob:
    """install() once; enter_model and leave_model around each outermost forward."""

    def __init__(self, mode, note):
        self.type = TYPES[mode]
        self.note = note
        self.region = None  # the autocast that we have entered and not left yet
        self.opener = None  # id of the model with whose forward that region began
        self.leaves_later = False  # when the script's regions within it are left
        self.script_regions = 0
        self.has_scaler = False  # the script has made a GradScaler
        self.script_scales = False  # and it uses it
        self.scaling = None
        self.given_up = False
        self.shards = False

    def install(self):
        self._override_autocast()
        replace(GradScaler, "__init__", self._make_scaler)
        replace(GradScaler, "scale", self._scale)
        replace(torch.autograd, "backward", self._backward)
        register_optimizer_step_pre_hook(self._before_step)
        if self.type is torch.float16:
            self.scaling = OwnScaling()
            watch_data_parallel(self._see_shards)

    def _see_shards(self, model, ranks):
        self.shards = self.shards or not isinstance(model, torch.nn.parallel.DistributedDataParallel)

    def _gives_up(self):
        """Ranks that hold shards of the gradients must skip a step together, for which only the script's GradScaler can
        be made."""
        shards = self.shards or "deepspeed" in sys.modules
        if shards and not self.has_scaler:
            self._give_up("each rank holds a part of the gradients, and the script makes no ShardedGradScaler")
        return self.given_up

    def _give_up(self, why):
        if self.scaling is not None:
            self.given_up, self.scaling = True, None
            self.note(f"amp fp16 not applied: {why}")

    def enter_model(self, module):
        # The script's outermost region is set to the knob already, and what it has switched off inside stays off.
        if self.type is None or self.region is not None or self.script_regions > 0 or self._gives_up():
            return
        device = device_of(module)
        if device is None or torch.is_autocast_enabled(device):
            return
        self.opener = id(module)
        self.region = autocast(device, dtype=self.type)
        _enter_autocast(self.region)

    def leave_model(self, module):
        if self.opener == id(module) and not (torch.is_grad_enabled() and module.training):
            self.leave_region()

    def leave_region(self):
        self.leaves_later = self.region is not None and self.script_regions > 0
        if self.region is not None and not self.leaves_later:
            region, self.region = self.region, None
            _exit_autocast(region, None, None, None)

    def _before_step(self, optimizer, args, kwargs):
        self.leave_region()
        if self.scaling is None:
            return None
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self.scaling.before_step(optimizer)
            return None
        closure = self.scaling.unscaling(closure, optimizer)
        if len(args) > 1:
            return (args[0], closure, *args[2:]), kwargs
        return args, {**kwargs, "closure": closure}

    def _override_autocast(self):
        knob = self

        def enter(region):
            is_off_within_ours = knob.region is not None and not region._enabled
            if knob.script_regions == 0 and not inside_a_model() and not is_off_within_ours:
                knob.leave_region()  # the script's own may reach further than ours, and must find what was before ours
            # A backward pass restores the regions of the forward pass (custom_bwd, checkpointing).
            runs_backward = torch._C._current_graph_task_id() != -1
            deliberate = inside_a_model() or knob.script_regions > 0 or runs_backward or is_off_within_ours
            if not knob.given_up and (knob.type is None or not deliberate):
                region._enabled = knob.type is not None
            if not knob.given_up and knob.type is not None:
                region.fast_dtype = knob.type
            knob.script_regions += 1
            return _enter_autocast(region)

        def leave(region, *error):
            knob.script_regions -= 1
            result = _exit_autocast(region, *error)
            if knob.leaves_later and knob.script_regions == 0:
                knob.leave_region()
            return result

        autocast.__enter__ = enter
        autocast.__exit__ = leave

    def _make_scaler(self, original, scaler, *args, **kwargs):
        wanted = self.type is torch.float16
        if len(args) > ENABLED:
            args = (*args[:ENABLED], wanted, *args[ENABLED + 1 :])
        else:
            kwargs["enabled"] = wanted
        original(scaler, *args, **kwargs)
        self.has_scaler = self.has_scaler or scaler.is_enabled()
        if type(scaler).scale is not GradScaler.scale:  # ShardedGradScaler's
            self.script_scales = self.has_scaler

    def _scale(self, original, scaler, outputs):
        if scaler.is_enabled() and not isinstance(scaler, _UnseenScaler):
            self.script_scales = True
        return original(scaler, outputs)

    def _backward(self, original, tensors, grad_tensors=None, *args, **kwargs):
        self.leave_region()
        if self.scaling is not None and not self.script_scales:
            tensors = readable_twice(tensors)
            if is_a_loss(tensors, grad_tensors):
                tensors = self.scaling.scaled(tensors)
            else:
                self._give_up("the script gives backward() gradients")
        return original(tensors, grad_tensors, *args, **kwargs)


class OwnScaling:
    """Does what a script with a GradScaler does itself: it scales the loss before backward, unscales the gradients
    before the step, and skips the step if they overflowed."""

    def __init__(self):
        self.scaler = None
        self.optimizers = weakref.WeakSet()
        self.stepped = False
        self._remember_optimizers()
        for owner, name in gradient_functions(CLIPPING):
            self._unscale_before_clipping(owner, name)
        for owner, name in gradient_functions(["get_total_norm"]):  # which takes gradients
            self._unscale_before_clipping(owner, name, lambda parameter: parameter.grad)

    def scaled(self, tensors):
        if self.scaler is None:
            first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors))
            self.scaler = _UnseenScaler(first.device.type)
        if self.stepped:
            self.stepped = False
            self.scaler.update()
        return self.scaler.scale(tensors)

    def before_step(self, optimizer):
        if self.scaler is None or not self._unscale(optimizer):
            return
        self.stepped = True
        found = self.scaler._found_inf_per_device(optimizer).values()
        if any(bool(overflow) for overflow in found):
            for parameter in parameters_of(optimizer):
                parameter.grad = None  # without gradients the step changes nothing

    def unscaling(self, closure, optimizer):
        """Wraps the closure of a step: the gradients exist only after the closure has run, and are unscaled then."""

        @functools.wraps(closure)
        def unscaled():
            loss = closure()
            self.before_step(optimizer)
            return loss

        return unscaled

    def _unscale(self, optimizer):
        if all(parameter.grad is None for parameter in parameters_of(optimizer)):
            return False
        if self.scaler._per_optimizer_states[id(optimizer)]["stage"] is OptState.READY:
            self.scaler.unscale_(optimizer)
        return True

    def _remember_optimizers(self):
        def make(original, optimizer, *args, **kwargs):
            original(optimizer, *args, **kwargs)
            self.optimizers.add(optimizer)

        replace(Optimizer, "__init__", make)

    def _unscale_before_clipping(self, owner, name, takes=lambda parameter: parameter):
        """`takes(parameter)` is what the function takes of a parameter."""
        def clip(original, *args, **kwargs):
            first = args[0] if args else kwargs.get("parameters", kwargs.get("tensors"))
            given = [first] if isinstance(first, torch.Tensor) else list(first)  # it may be read only once
            clipped = {id(parameter) for parameter in given if parameter is not None}
            for optimizer in list(self.optimizers):
                owned = map(takes, parameters_of(optimizer))
                if self.scaler is not None and any(id(parameter) in clipped for parameter in owned):
                    self._unscale(optimizer)
            if args:
                return original(given, *args[1:], **kwargs)
            return original(**{name: given if value is first else value for name, value in kwargs.items()})

        replace(owner, name, clip)


class _UnseenScaler(GradScaler):
    """A GradScaler for OwnScaling. It calls the original __init__, because ours would take it for the script's."""

    def __init__(self, device):
        GradScaler.__init__.__wrapped__(self, device)
