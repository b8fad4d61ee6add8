"""Knob checkpointing = off | on: activations are computed again in the backward pass instead of being kept, in models
that offer it themselves: transformers' and timm's."""

# transformers renamed it; each takes the arguments of torch.utils.checkpoint.
_TRANSFORMERS = ("activation_checkpointing", "gradient_checkpointing")


class CheckpointingKnob:
    """`on` is None where the knob is not set; enter_model before each outermost forward that trains."""

    def __init__(self, on):
        self.on = on
        self.is_on = None  # None: no model offers it
        self._known = set()  # ids of models

    def enter_model(self, model):
        if id(model) in self._known:
            return
        self._known.add(id(model))
        offers = [set_one for module in model.modules() if (set_one := _switch_of(module))]
        if not offers:
            return
        if self.on is not None:
            offers[0](self.on)  # of the outermost module: it reaches those within
        self.is_on = any(
            getattr(module, "gradient_checkpointing", False) or getattr(module, "grad_checkpointing", False)
            for module in model.modules()
        )


def _switch_of(module):
    """A function of on, or None."""
    if callable(set_grad_checkpointing := getattr(module, "set_grad_checkpointing", None)):
        return set_grad_checkpointing
    if not getattr(module, "supports_gradient_checkpointing", True):
        return None
    name = next((name for name in _TRANSFORMERS if callable(getattr(module, f"{name}_enable", None))), None)
    if name is None:
        return None

    def switch(on):
        if on:  # not the older way, which needs inputs with gradients
            getattr(module, f"{name}_enable")({"use_reentrant": False})
        else:
            getattr(module, f"{name}_disable")()

    return switch
