"""Sets arguments of DistributedDataParallel from outside, when a script makes one."""

import inspect

from torch import nn

from redline._knob_values import at_least, on_or_off
from redline._stand_in import replace

KNOBS = {
    "bucket_cap_mb": at_least(1),
    "gradient_as_bucket_view": on_or_off,
    "static_graph": on_or_off,
    "find_unused_parameters": on_or_off,
}


class DdpKnobs:
    """`values` holds knobs by DDP's argument names."""

    def __init__(self, values):
        self.values = values
        self.effective = {}  # what the first DistributedDataParallel was made with

    def install(self):
        kind = nn.parallel.DistributedDataParallel
        signature = inspect.signature(kind.__init__)

        def make(original, *args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            bound.arguments.update(self.values)
            original(*bound.args, **bound.kwargs)
            if not self.effective:
                self.effective = {name: bound.arguments[name] for name in KNOBS}
                self.effective["bucket_cap_mb"] = bound.arguments["bucket_cap_mb"] or 25  # DDP takes None for 25

        replace(kind, "__init__", make)

    def missing(self):
        """All knobs if the script made no DistributedDataParallel, so that none could be applied."""
        return [] if self.effective else list(KNOBS)
