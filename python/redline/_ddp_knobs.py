"""Sets arguments of DistributedDataParallel from outside, when a script makes one."""

import functools
import inspect

from torch import nn

KNOBS = ("bucket_cap_mb", "gradient_as_bucket_view", "static_graph", "find_unused_parameters")


class DdpKnobs:
    """`values` holds knobs by DDP's argument names."""

    def __init__(self, values):
        self.values = values
        self.effective = {}  # of the first DDP, once there is one

    def install(self):
        kind = nn.parallel.DistributedDataParallel
        original = kind.__init__
        signature = inspect.signature(original)

        @functools.wraps(original)
        def init(wrapper, *args, **kwargs):
            bound = signature.bind(wrapper, *args, **kwargs)
            bound.apply_defaults()
            bound.arguments.update(self.values)
            original(*bound.args, **bound.kwargs)
            if not self.effective:
                self.effective = {name: bound.arguments[name] for name in KNOBS}
                self.effective["bucket_cap_mb"] = bound.arguments["bucket_cap_mb"] or 25  # DDP's own

        kind.__init__ = init

    def missing(self):
        """The knobs that met no DDP, for a note."""
        return [] if self.effective else sorted(self.values)
