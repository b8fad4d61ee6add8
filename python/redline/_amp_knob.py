"""Knob amp = off | bf16 | fp16: automatic mixed precision in a script that was not written for it,
or a precision other than the script asks for.

An autocast region begins with the forward of a model that trains, and ends when backward begins. So the loss is
computed within the region, as with the usual `with torch.autocast(...)` around both. A model that runs without
gradients gets a region around its forward alone. The knob's value replaces that of the script's outermost autocast. If
a model, a loss or the script's own region switches autocast off inside, this is deliberate, and it stays off.

With fp16 the loss must be scaled. If the script uses a GradScaler, it is enabled or disabled to suit the knob.
Otherwise OwnScaling scales around backward.
"""

import functools
import sys
import weakref

import torch
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from redline._accumulation_knob import is_a_loss
from redline._data_parallel import watch_data_parallel
from redline._optimizer_steps import parameters_of
from redline._outermost import inside_a_model, remember
from redline._stand_in import replace
from redline._training_signs import readable_twice

TYPES = {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}

ENABLED = 5  # `enabled` is the argument of GradScaler at this index
CREATE_GRAPH = 1  # and `create_graph` that of backward() behind `grad_tensors`

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
        self.trains = False  # the forward that runs, or ran last, is for training
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
            self.scaling.drop_infinite()  # of earlier passes of this step
            self.given_up, self.scaling = True, None
            self.note(f"amp fp16 not applied: {why}")

    def enter_model(self, module, trains):
        self.trains = trains
        if self.scaling is not None and torch.is_grad_enabled():
            self.scaling.enter_model(module)
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
        if self.opener == id(module) and not self.trains:
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
        closure = self.scaling.skipping_after(closure, optimizer)
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
        if scaler.is_enabled():
            self.script_scales = True
        return original(scaler, outputs)

    def _backward(self, original, tensors, grad_tensors=None, *args, **kwargs):
        if torch._C._current_graph_task_id() != -1:  # of reentrant checkpointing: the pass around it has all done
            return original(tensors, grad_tensors, *args, **kwargs)
        self.leave_region()
        if self.scaling is not None and not self.script_scales:
            tensors = readable_twice(tensors)
            why = self.scaling.why_not()
            if not is_a_loss(tensors, grad_tensors):
                why = "the script gives backward() gradients"
            elif kwargs.get("create_graph") or args[CREATE_GRAPH : CREATE_GRAPH + 1] == (True,):
                why = "the script differentiates gradients"
            if why is None:
                return self.scaling.backward(tensors, lambda loss: original(loss, grad_tensors, *args, **kwargs))
            self._give_up(why)
        return original(tensors, grad_tensors, *args, **kwargs)


class OwnScaling:
    """Does what a script with a GradScaler does itself: it scales the loss before backward, and skips the step if the
    gradients overflowed. They are scaled only while a backward pass runs, because the script may clip, add up, show or
    use them in ways of its own."""

    def __init__(self):
        self.scaler = None
        self.optimizers = weakref.WeakSet()
        self.is_unscaled = False  # gradients were, and no optimizer has stepped since
        self.stepped = False  # an optimizer has, since the last backward pass
        self.called = {}  # models that were called with gradients since the last backward pass, by id
        self._owned = set()  # ids of models whose trained parameters all belong to optimizers
        self._remember_optimizers()

    @property
    def param_groups(self):
        """All parameters that have a gradient. So GradScaler takes us for one optimizer."""
        found = {id(parameter): parameter for parameter in self._parameters() if parameter.grad is not None}
        return [{"params": list(found.values())}]

    def _parameters(self):
        return (parameter for optimizer in list(self.optimizers) for parameter in parameters_of(optimizer))

    def enter_model(self, module):
        if id(module) not in self._owned:
            self.called[id(module)] = weakref.ref(module)

    def why_not(self):
        """Why the gradients of this backward pass cannot be scaled, None if they can."""
        if not self.optimizers:
            return "the script makes no optimizer"
        if any(parameter.dtype is torch.float16 for parameter in self._parameters()):
            return "the parameters themselves are fp16"
        if any(parameter._backward_hooks or parameter._post_accumulate_grad_hooks for parameter in self._parameters()):
            return "the script's hooks take gradients within the backward pass"
        called, self.called = self.called, {}
        owned = set(map(id, self._parameters())) if called else set()
        for module in (reference() for reference in called.values()):
            if module is None:
                continue
            if any(parameter.requires_grad and id(parameter) not in owned for parameter in module.parameters()):
                return "the model has parameters that no optimizer updates"
            remember(module, self._owned)
        return None

    def backward(self, tensors, run):
        if self.scaler is None:
            first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors))
            self.scaler = _UnseenScaler(first.device.type)
        (earlier,) = self.param_groups  # to which this pass adds
        if self.stepped or (self.is_unscaled and not earlier["params"]):  # cleared: the script itself skips such a step
            self.scaler.update()
        self.stepped = False
        scaled = self.scaler.scale(tensors)
        for parameter in earlier["params"]:
            gradient = parameter.grad.detach()
            values = gradient._values() if gradient.is_sparse else gradient
            values.mul_(self.scaler._scale.to(values.device))  # get_scale() would wait for the GPU
        try:
            return run(scaled)
        finally:
            self._unscale()

    def _unscale(self):
        """Infinite gradients stay so: only after all passes of a step all ranks have the same ones."""
        self.scaler._per_optimizer_states.pop(id(self), None)  # it would refuse to do so twice a step
        self.is_unscaled = bool(self.param_groups[0]["params"])
        if self.is_unscaled:
            self.scaler.unscale_(self)

    def before_step(self, optimizer):
        if not self.is_unscaled or all(parameter.grad is None for parameter in parameters_of(optimizer)):
            return
        self.drop_infinite()
        self.stepped, self.is_unscaled = True, False

    def drop_infinite(self):
        if self.is_unscaled and any(map(bool, self.scaler._found_inf_per_device(self).values())):
            for parameter in self._parameters():
                parameter.grad = None  # without gradients a step changes nothing

    def skipping_after(self, closure, optimizer):
        """Wraps the closure of a step: the gradients exist only after it has run."""

        @functools.wraps(closure)
        def watched():
            loss = closure()
            self.before_step(optimizer)
            return loss

        return watched

    def _remember_optimizers(self):
        def make(original, optimizer, *args, **kwargs):
            original(optimizer, *args, **kwargs)
            self.optimizers.add(optimizer)

        replace(Optimizer, "__init__", make)


class _UnseenScaler(GradScaler):
    """A GradScaler for OwnScaling, with torch's own methods, which no knob changes as it does the script's."""

    __init__, scale, unscale_, update = GradScaler.__init__, GradScaler.scale, GradScaler.unscale_, GradScaler.update
