"""Finds where a training step ends in a script that does not say so: when its leading optimizer has stepped.

Gradient accumulation is thus one step, whatever the number of batches. The first optimizer that steps leads. If another
optimizer steps once between two steps of the leader, as the second one of a GAN does, this belongs to the same step. An
optimizer that steps twice while the leader does not becomes the leader: the next phase of a job may have a new
optimizer, or the generator of a GAN may step first but seldom.
"""

import functools

import torch
from torch.compiler import is_dynamo_compiling


class LeadingOptimizer:
    """Tells which optimizer steps end a step of the job."""

    def __init__(self):
        self.leader = None  # an id: optimizers may define equality, and keeping them alive would change the job
        self.others = set()

    def ends_step(self, stepped):
        """`stepped` is the id of an optimizer."""
        if self.leader is None or stepped in self.others:
            self.leader = stepped
        if stepped != self.leader:
            self.others.add(stepped)
            return False
        self.others.clear()
        return True


_entered, _left, _step_ended = [], [], []  # what to call, of all watchers


def watch_optimizers(step_ended, enter=None, leave=None):
    """Calls `step_ended()` each time a step of the job has ended, and `enter()` and `leave()` around each call of an
    optimizer."""
    if not _step_ended:
        _watch_class(torch.optim.Optimizer)
    _step_ended.append(step_ended)
    if enter is not None:
        _entered.append(enter)
        _left.append(leave)


def _watch_class(optimizer_class):
    """torch's step hooks run inside torch's `Optimizer.step#…` range. A step that ended in such a hook would end before
    that range does. So we wrap the function that adds the hooks and the range. An optimizer that calls another one
    (ZeroRedundancyOptimizer) counts once, as the outer one."""
    add_hooks = optimizer_class.profile_hook_step
    leading = LeadingOptimizer()
    depth = 0

    def add_hooks_and_watch(step):
        hooked = add_hooks(step)

        @functools.wraps(hooked)
        def watched(*args, **kwargs):
            nonlocal depth
            # A compiler that traces this must see nothing but the optimizer.
            if is_dynamo_compiling():
                return hooked(*args, **kwargs)
            depth += 1
            for enter in _entered:
                enter()
            try:
                result = hooked(*args, **kwargs)
            finally:
                depth -= 1
                for leave in _left:
                    leave()
            if depth == 0:
                stepped = id(args[0])
                if (stepped == leading.leader and not leading.others) or leading.ends_step(stepped):
                    for ended in _step_ended:
                        ended()
            return result

        return watched

    optimizer_class.profile_hook_step = staticmethod(add_hooks_and_watch)
