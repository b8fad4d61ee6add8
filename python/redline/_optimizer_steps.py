"""Finds where a training step ends in a script that does not say so: when its leading optimizer has stepped.

Gradient accumulation is thus one step, whatever the number of batches. The first optimizer that steps leads. If another
optimizer steps once between two steps of the leader, as the second one of a GAN does, this belongs to the same step. An
optimizer that steps twice while the leader does not becomes the leader: the next phase of a job may have a new
optimizer, or the generator of a GAN may step first but seldom. An optimizer that was made since the leader's last step
leads at once: each client of a federated learning, and each task of a MAML, may have a new one for few steps. An
optimizer that updates other parameters than before counts as another one: DeepSpeed's ZeRO gives its optimizer one
group of parameters after the other.
"""

import functools

import torch

from redline._library import core_path
from redline._python_library import step_functions
from redline._stand_in import replace, stand_in


class LeadingOptimizer:
    """Tells which optimizer steps end a step of the job."""

    def __init__(self):
        self.leader = None  # ids: optimizers may define equality, and keeping them alive would change the job
        self.others = set()
        self.new = set()  # made since the leader stepped; an id may be that of an optimizer that is gone

    def made(self, optimizer):
        self.new.add(id(optimizer))

    def ends_step(self, optimizer, parameter):
        """The ids of an optimizer and of the first parameter that it has updated."""
        stepped = (optimizer, parameter)
        if self.leader is None or optimizer in self.new or stepped in self.others:
            self.leader = stepped
        if stepped != self.leader:
            self.others.add(stepped)
            return False
        self.others.clear()
        self.new.clear()
        return True


def watch_optimizers(step_ended, idle_ended):
    """Calls `step_ended()` each time a step of the job has ended, but not while hooks().be_idle() holds, and
    `idle_ended(began, step)` when that ends by itself: what redline_next_step() gave, and the number of the step."""
    try:
        functions = step_functions(core_path())
    except OSError:  # of another Python
        leading = LeadingOptimizer()
        _wrap_optimizers(_watched(leading, step_ended), leading.made)
        return
    functions.begin_recording(step_ended, idle_ended)
    hook_optimizers()


@functools.cache
def hook_optimizers():
    """Puts the hook into all optimizers, once for the step log and a recording."""
    functions, leading = step_functions(core_path()), LeadingOptimizer()

    def made(optimizer):
        leading.made(optimizer)
        functions.optimizer_made()

    hook = functions.hook_optimizer
    _wrap_optimizers(lambda step: stand_in(step, hook(step, leading.ends_step)), made)


def _wrap_optimizers(wrap, made):
    """From now on the `step` of each class of optimizers is `wrap(step)`, and `made(optimizer)` is called after one is
    made. torch's step hooks run inside torch's `Optimizer.step#…` range. A step that ended in such a hook would end
    before that range does. So we wrap the function that adds the hooks and the range."""
    optimizer_class = torch.optim.Optimizer
    add_hooks = optimizer_class.profile_hook_step
    optimizer_class.profile_hook_step = staticmethod(lambda step: wrap(add_hooks(step)))

    def make(make_original, optimizer, *arguments, **named):
        make_original(optimizer, *arguments, **named)
        made(optimizer)

    replace(optimizer_class, "__init__", make)


def _watched(leading, step_ended):
    """What hook_optimizers() does for a recording, more slowly. An optimizer that calls another one
    (ZeroRedundancyOptimizer) counts once, as the outer one."""
    depth = 0

    def wrap(step):
        def hook(*arguments, **named):
            nonlocal depth
            depth += 1
            try:
                result = step(*arguments, **named)
            finally:
                depth -= 1
            if depth == 0 and leading.ends_step(id(arguments[0]), id(next(parameters_of(arguments[0]), None))):
                step_ended()
            return result

        return stand_in(step, hook)

    return wrap


def parameters_of(optimizer):
    return (parameter for group in optimizer.param_groups for parameter in group["params"])
