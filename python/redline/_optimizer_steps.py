"""Where a training step ends in a script that does not say so: at its optimizer.

One step of the job is one step of its leading optimizer, so that gradient accumulation is one step
by nature. The first optimizer that steps leads. Others that step once in between, as the two of a
GAN do, belong to the same step; one that steps twice while the leader does not takes over, as when
the next phase of a job has a new optimizer or the generator of a GAN steps first but seldom.
"""

import functools

import torch


class LeadingOptimizer:
    """Tells which optimizer steps end a step of the job."""

    def __init__(self):
        self._leader = None
        self._others = set()

    def ends_step(self, optimizer):
        # Compared by id: optimizers may define equality, and keeping them alive would change the job.
        stepped = id(optimizer)
        if self._leader is None or stepped in self._others:
            self._leader = stepped
        if stepped != self._leader:
            self._others.add(stepped)
            return False
        self._others.clear()
        return True


def watch_optimizers(step_ended):
    """Calls `step_ended()` each time a step of the job has ended.

    torch's own step hooks run inside the `Optimizer.step#…` range, which would then overlap the end
    of the step that it belongs to. So the wrapper that adds those hooks and that range is wrapped
    itself. Optimizers inside optimizers (ZeroRedundancyOptimizer) count once, as the outermost.
    """
    optimizer_class = torch.optim.Optimizer
    add_hooks = optimizer_class.profile_hook_step
    leading = LeadingOptimizer()
    depth = 0

    def add_hooks_and_watch(step):
        hooked = add_hooks(step)

        @functools.wraps(hooked)
        def watched(*args, **kwargs):
            nonlocal depth
            # A compiler that traces this must see nothing but the optimizer.
            if torch.compiler.is_compiling():
                return hooked(*args, **kwargs)
            depth += 1
            try:
                result = hooked(*args, **kwargs)
            finally:
                depth -= 1
            if depth == 0 and leading.ends_step(args[0]):
                step_ended()
            return result

        return watched

    optimizer_class.profile_hook_step = staticmethod(add_hooks_and_watch)
