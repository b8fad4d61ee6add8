"""Knob accumulation = N: N batches a step, in a script that steps after each batch.

The knob does what scripts that accumulate write themselves: it divides the loss by N, lets DDP all-reduce gradients
only in the last batch of a step (as no_sync does), and lets step, zero_grad, clipping and GradScaler work only then. A
learning-rate scheduler that is called after each batch still advances once a step. If it is called within a step, as at
the end of an epoch, the call waits until that step is over.

The knob leaves alone a script that accumulates by itself, one with several optimizers, one that steps with a closure,
one that gives backward() gradients, and one that clears or changes gradients by other means than those that the knob
holds back. Nearly all of them show it within the first step, so DDP all-reduces after each batch of that one.
"""

import functools
import weakref

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer

from redline._optimizer_steps import parameters_of
from redline._stand_in import replace
from redline._training_signs import readable_twice

CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_")


def gradient_functions(names):
    """The owner and the name of each that this torch has, in both places from which scripts take them."""
    owners = (torch.nn.utils, torch.nn.utils.clip_grad)
    return [(owner, name) for owner in owners for name in names if hasattr(owner, name)]


class Gradients:
    """The gradients of these parameters, as they are now. To see later whether the script has cleared or changed
    them, it keeps the first one's version and, with `values`, its sum: a change of `gradient.data` has no version."""

    def __init__(self, parameters, values):
        first = next((parameter for parameter in parameters if parameter.grad is not None), None)
        self.first = None if first is None else weakref.ref(first)
        self.before = None if first is None else (id(first.grad), first.grad._version)
        self.sum = _sum_of(first.grad) if first is not None and values else None

    def are_the_same(self):
        parameter = None if self.first is None else self.first()
        if parameter is None:
            return True
        gradient, (before, version) = parameter.grad, self.before
        # DDP may move gradients into other buckets: then it is another tensor with the same values.
        if gradient is None or (id(gradient) == before and gradient._version != version):
            return False
        now = None if self.sum is None else _sum_of(gradient)
        return now is None or torch.equal(self.sum, now)


def _sum_of(gradient):
    """None for the kinds of tensors of which a sum could mean communication, or is not there."""
    if type(gradient) is not torch.Tensor or gradient.layout is not torch.strided:
        return None
    return gradient.detach().abs().sum().nan_to_num()


def is_a_loss(tensors, grad_tensors):
    """Whether these arguments of backward() are what a script computes last, not gradients that it passes on."""
    given = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    return all(isinstance(tensor, torch.Tensor) and (grad_tensors is None or tensor.dim() == 0) for tensor in given)


class AccumulationKnob:
    """install() once; enter_model before each outermost forward that trains. `owner` is told of what is refused and held
    back."""

    def __init__(self, batches, owner):
        self.batches = batches
        self.owner = owner
        self.done = 0  # backward passes since the last step
        self.passes = 0  # backward passes in all
        self.passes_of_steps = 0  # those before the script's last call of a step
        self.inside = False  # a backward pass runs; checkpointing runs another one within it
        self.model = lambda: None  # gives the one that was called last
        self.optimizer = None  # gives the one that steps
        self.steps = 0  # that it was asked for
        self.former = weakref.WeakSet()  # those that stepped before it, in earlier phases of the training
        self.is_proven = False  # the optimizer has made a step of N batches
        self.reducers = weakref.WeakSet()  # models whose all-reduce is left to the last batch
        self.says_schedule = True
        self.given_up = False
        self.late = {}  # id of a scheduler -> its calls that were made within a step and are due after it
        self.scheduled = weakref.WeakKeyDictionary()  # scheduler -> backward passes before its last call
        self.kept = None  # gradients as the last backward pass left them

    def install(self):
        replace(torch.autograd, "backward", self._backward)
        self._hold_back_steps()
        # Gradients of earlier batches must stay as they are until the step.
        for owner in (Optimizer, torch.nn.Module):
            self._not_within_a_step(owner, "zero_grad")
        for name in ("unscale_", "update"):
            self._not_within_a_step(GradScaler, name)
        replace(GradScaler, "step", self._scaled_step)
        for owner, name in gradient_functions(CLIPPING):
            self._not_within_a_step(owner, name, instead=torch.tensor(0.0))
        for kind in vars(lr_scheduler).values():
            if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler) and "step" in vars(kind):
                replace(kind, "step", self._schedule)

    def enter_model(self, module):
        self.model = weakref.ref(module)
        if self.is_proven and isinstance(module, torch.nn.parallel.DistributedDataParallel):
            self.reducers.add(module)
            module.require_backward_grad_sync = self.done >= self.batches - 1

    def _begin_step(self):
        self.done = 0
        self.is_proven = not self.given_up

    def _within_a_step(self):
        return not self.given_up and 0 < self.done < self.batches

    def _backward(self, original, tensors, grad_tensors=None, *args, **kwargs):
        """Divides the loss."""
        if self.given_up or self.inside:
            return original(tensors, grad_tensors, *args, **kwargs)
        tensors = readable_twice(tensors)
        if self.done == 0:
            self._call_late_schedulers()
        elif not self._gradients_are_kept():
            return original(tensors, grad_tensors, *args, **kwargs)
        if not is_a_loss(tensors, grad_tensors):
            self._give_up("the script gives backward() gradients")
            return original(tensors, grad_tensors, *args, **kwargs)
        self.done += 1
        self.passes += 1
        single = isinstance(tensors, torch.Tensor)
        tensors = [tensor / self.batches for tensor in ([tensors] if single else tensors)]
        self.inside = True
        try:
            return original(tensors, grad_tensors, *args, **kwargs)
        finally:
            self.inside = False
            self.kept = Gradients(self._parameters(), values=not self.is_proven)

    def _parameters(self):
        if self.optimizer is not None and (optimizer := self.optimizer()) is not None:
            return parameters_of(optimizer)
        model = self.model()
        return () if model is None else model.parameters()

    def _gradients_are_kept(self):
        """From one backward pass to the next of a step."""
        if self.kept is not None and not self.kept.are_the_same():
            self._give_up("the script clears or changes gradients itself after each batch")
        return not self.given_up

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

    def _scaled_step(self, original, scaler, optimizer, *args, **kwargs):
        if not self._is_due(optimizer, (*args, *kwargs.values())):
            return None
        try:
            return original(scaler, optimizer, *args, **kwargs)
        finally:
            self._begin_step()  # also if the scaler skips the optimizer's step

    def _is_due(self, optimizer, arguments):
        known = None if self.optimizer is None else self.optimizer()
        own = self.passes - self.passes_of_steps
        self.passes_of_steps = self.passes
        if self.optimizer is None:
            self.optimizer = weakref.ref(optimizer)
            if any(argument is not None for argument in arguments):
                self._give_up("the optimizer steps with a closure")
            elif self.done > 1:
                self._give_up(f"the script accumulates {self.done} batches itself")
        elif known is not optimizer and not self.given_up:
            if known is not None and (self.steps < 2 or optimizer in self.former):
                self.optimizer = weakref.ref(optimizer)
                self._give_up("several optimizers step")
            else:
                if known is not None:
                    self.former.add(known)
                self.optimizer, self.steps, self.done = weakref.ref(optimizer), 0, min(self.done, 1)
                self.is_proven = False
        elif own > 1 and not self.given_up:  # its own count may grow in a warm-up
            self._give_up(f"the script accumulates {own} batches itself", own)
        self.steps += 1
        # Without a batch since the last step, this belongs to that step: DeepSpeed steps once for each parameter group.
        if self.given_up or self.done >= self.batches or self.done == 0 or not self._gradients_are_kept():
            return True
        self.owner.step_is_held_back()
        return False

    def _give_up(self, why, own=None):
        """`own`: of the batches whose gradients are there, as many as the script makes a step of. Gradients become as
        large as of so many; of all, where it is None."""
        self.owner.refuse(["accumulation"], why)
        self.given_up, self.is_proven = True, False
        for model in self.reducers:
            model.require_backward_grad_sync = True
        for parameter in self._parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(self.batches if own is None else self.batches * own / self.done)

    def _not_within_a_step(self, owner, name, instead=None):
        def unless_within(original, *args, **kwargs):
            return instead if self._within_a_step() else original(*args, **kwargs)

        replace(owner, name, unless_within)

    def _schedule(self, original, scheduler, *args, **kwargs):
        """The schedule goes on once a step."""
        is_made = hasattr(scheduler, "_last_lr")  # until it has that, its own __init__ calls
        is_each_batch = self._note_call(scheduler) == 1
        if not (is_made and self._within_a_step()):
            for call in self.late.pop(id(scheduler), ()):
                is_each_batch or call()
            return original(scheduler, *args, **kwargs)
        calls = self.late.setdefault(id(scheduler), [])
        if is_each_batch:
            calls.clear()
            if self.says_schedule:
                self.says_schedule = False
                self.owner.schedule_is_held_back()
        calls.append(functools.partial(original, scheduler, *args, **kwargs))
        return None

    def _note_call(self, scheduler):
        """Backward passes since its call before: one, if the script calls it after each batch."""
        before = self.scheduled.get(scheduler, 0)
        self.scheduled[scheduler] = self.passes
        return self.passes - before

    def _call_late_schedulers(self):
        late, self.late = self.late, {}
        for calls in late.values():
            for call in calls:
                call()
