"""Knob accumulation = N: N batches a step, in a script that steps after each batch.

The knob does what scripts that accumulate write themselves: it divides the loss by N, lets DDP all-reduce gradients
only in the last batch of a step (as no_sync does), and lets step, zero_grad, clipping and GradScaler work only then. A
learning-rate scheduler that is called after each batch still advances once a step. If it is called within a step, as at
the end of an epoch, the call waits until that step is over.

The knob leaves alone a script that accumulates by itself, one with several optimizers, one that steps with a closure,
and one that clears or changes gradients by other means than those that the knob holds back.
"""

import functools
import weakref

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer

from redline._stand_in import known_to_torchscript

CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


class Gradients:
    """Of an optimizer, as they are now; to tell whether the script has cleared or changed them, the first one is looked
    at."""

    def __init__(self, optimizer):
        self.optimizer = weakref.ref(optimizer)
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        first = next((parameter for parameter in parameters if parameter.grad is not None), None)
        self.first = None if first is None else weakref.ref(first)
        self.before = None if first is None else (id(first.grad), first.grad._version)

    def are_the_same(self):
        parameter = None if self.first is None else self.first()
        if parameter is None:
            return True
        gradient, (before, version) = parameter.grad, self.before
        # DDP may move gradients into other buckets: then it is another tensor with the same values.
        return gradient is not None and (id(gradient) != before or gradient._version == version)


class AccumulationKnob:
    """install() once; enter_model before each outermost forward that trains. `owner` is told of what is refused and held
    back."""

    def __init__(self, batches, owner):
        self.batches = batches
        self.owner = owner
        self.done = 0  # backward passes since the last step
        self.inside = False  # a backward pass runs; checkpointing runs another one within it
        self.optimizer = None  # id of the one that steps
        self.steps = 0  # that it was asked for
        self.former = set()  # ids of those that stepped before it, in earlier phases of the training
        self.says_schedule = True
        self.given_up = False
        self.late = {}  # id of a scheduler -> its call, made within a step and due after it
        self.kept = None  # gradients as they were when a step was held back

    def install(self):
        self._divide_the_loss()
        self._hold_back_steps()
        # Gradients of earlier batches must stay as they are until the step.
        for owner in (Optimizer, torch.nn.Module):
            self._not_within_a_step(owner, "zero_grad")
        for name in ("unscale_", "update"):
            self._not_within_a_step(GradScaler, name)
        self._hold_back_scaled_steps()
        for name in CLIPPING:
            for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
                self._not_within_a_step(owner, name, instead=torch.tensor(0.0))
        for kind in vars(lr_scheduler).values():
            if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler):
                self._schedule_once_a_step(kind)

    def enter_model(self, module):
        # Not in the first step: only its end shows whether the script accumulates itself.
        known = self.optimizer is not None and not self.given_up
        if known and isinstance(module, torch.nn.parallel.DistributedDataParallel):
            module.require_backward_grad_sync = self.done >= self.batches - 1

    def _begin_step(self):
        self.done = 0

    def _within_a_step(self):
        return not self.given_up and 0 < self.done < self.batches

    def _divide_the_loss(self):
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors, grad_tensors=None, *args, **kwargs):
            if self.given_up or self.inside:
                return original(tensors, grad_tensors, *args, **kwargs)
            if self.done == 0:
                self._call_late_schedulers()
            elif self.kept is not None and not self.kept.are_the_same():
                self._give_up("the script clears or changes gradients itself after each batch", self.kept.optimizer())
                return original(tensors, grad_tensors, *args, **kwargs)
            self.done += 1
            if grad_tensors is None:
                single = isinstance(tensors, torch.Tensor)
                tensors = [tensor / self.batches for tensor in ([tensors] if single else tensors)]
            self.inside = True
            try:
                return original(tensors, grad_tensors, *args, **kwargs)
            finally:
                self.inside = False

        torch.autograd.backward = known_to_torchscript(backward, original)

    def _hold_back_steps(self):
        add_hooks = Optimizer.profile_hook_step

        def add_hooks_and_hold_back(step):
            hooked = add_hooks(step)

            @functools.wraps(hooked)
            def held_back(optimizer, *args, **kwargs):
                if not self._is_due(optimizer, (*args, *kwargs.values())):
                    return None
                try:
                    return hooked(optimizer, *args, **kwargs)
                finally:
                    self._begin_step()

            return held_back

        Optimizer.profile_hook_step = staticmethod(add_hooks_and_hold_back)

    def _hold_back_scaled_steps(self):
        original = GradScaler.step

        @functools.wraps(original)
        def step(scaler, optimizer, *args, **kwargs):
            if not self._is_due(optimizer, (*args, *kwargs.values())):
                return None
            try:
                return original(scaler, optimizer, *args, **kwargs)
            finally:
                self._begin_step()  # also if the scaler skips the optimizer's step

        GradScaler.step = step

    def _is_due(self, optimizer, arguments):
        if self.optimizer is None:
            self.optimizer = id(optimizer)
            if any(argument is not None for argument in arguments):
                self._give_up("the optimizer steps with a closure", optimizer)
            elif self.done > 1:
                self._give_up(f"the script accumulates {self.done} batches itself", optimizer)
        elif self.optimizer != id(optimizer) and not self.given_up:
            if self.steps < 2 or id(optimizer) in self.former:
                self._give_up("several optimizers step", optimizer)
            else:
                self.former.add(self.optimizer)
                self.optimizer, self.steps, self.done = id(optimizer), 0, min(self.done, 1)
        self.steps += 1
        # Without a batch since the last step, this belongs to that step: DeepSpeed steps once for each parameter group.
        if self.given_up or self.done >= self.batches or self.done == 0:
            return True
        self.kept = Gradients(optimizer)
        self.owner.step_is_held_back()
        return False

    def _give_up(self, why, optimizer):
        self.owner.refuse(["accumulation"], why)
        self.given_up = True
        if optimizer is None:
            return
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            if parameter.grad is not None:
                parameter.grad.mul_(self.batches)

    def _not_within_a_step(self, owner, name, instead=None):
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*args, **kwargs):
            return instead if self._within_a_step() else original(*args, **kwargs)

        setattr(owner, name, wrapped)

    def _schedule_once_a_step(self, kind):
        original = vars(kind).get("step")
        if original is None:
            return

        @functools.wraps(original)
        def step(scheduler, *args, **kwargs):
            if self._within_a_step():
                if self.says_schedule:
                    self.says_schedule = False
                    self.owner.schedule_is_held_back()
                self.late[id(scheduler)] = functools.partial(original, scheduler, *args, **kwargs)
                return None
            self.late.pop(id(scheduler), None)
            return original(scheduler, *args, **kwargs)

        kind.step = step

    def _call_late_schedulers(self):
        calls, self.late = self.late, {}
        for call in calls.values():
            call()
