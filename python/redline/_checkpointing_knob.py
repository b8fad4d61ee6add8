"""Knob checkpointing = off | on: activations are computed again in the backward pass instead of being kept. It works in
models that have a switch for it, as those of transformers and timm do."""

from redline._outermost import remember

# transformers has renamed its methods. Both names take the arguments of torch.utils.checkpoint.
_TRANSFORMERS = ("activation_checkpointing", "gradient_checkpointing")


class CheckpointingKnob:
    """`on` is None if the knob is not set. Call enter_model() before each outermost forward that trains."""

    def __init__(self, on):
        self.on = on
        self.is_on = None  # None: no model offers it
        self._known = set()  # ids of models

    def enter_model(self, model):
        if id(model) in self._known:
            return
        remember(model, self._known)
        switches = list(_outermost_switches(model))
        if not switches:
            return
        if self.on is not None:
            for switch in switches:
                switch(self.on)
        self.is_on = any(
            getattr(module, "gradient_checkpointing", False) or getattr(module, "grad_checkpointing", False)
            for module in model.modules()
        )


def _outermost_switches(module):
    """Those of the modules that are in no other with a switch, because that sets the modules within, too."""
    if switch := _switch_of(module):
        yield switch
    else:
        for child in module.children():
            yield from _outermost_switches(child)


def _switch_of(module):
    """The function that switches checkpointing of this module on or off; None if it has none."""
    if callable(set_grad_checkpointing := getattr(module, "set_grad_checkpointing", None)):
        return set_grad_checkpointing
    if not getattr(module, "supports_gradient_checkpointing", True):
        return None
    name = next((name for name in _TRANSFORMERS if callable(getattr(module, f"{name}_enable", None))), None)
    if name is None:
        return None

    def switch(on):
        if on:  # the reentrant way would need inputs with gradients
            getattr(module, f"{name}_enable")({"use_reentrant": False})
        else:
            getattr(module, f"{name}_disable")()

    return switch
