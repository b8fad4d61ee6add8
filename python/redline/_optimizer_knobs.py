"""Knobs of the optimizers that a script makes: `optimizer` (default, foreach, fused) chooses which of torch's
implementations updates the parameters; `zero_grad` (none, zero) says whether gradients between two steps become None or
are filled with zeros."""

import functools

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import Optimizer

from redline._knob_values import one_of
from redline._stand_in import replace

KNOBS = {"optimizer": one_of(("default", "foreach", "fused")), "zero_grad": one_of(("none", "zero"))}


class OptimizerKnobs:
    """`values` holds knobs by the names of KNOBS; `refuse` takes the names of knobs that cannot be applied, and why."""

    def __init__(self, values, refuse):
        self.implementation = values.get("optimizer", "default")
        self.zero_grad = values.get("zero_grad")
        self.refuse = refuse
        self.effective = {}
        self.fixed = None  # why an optimizer has no such choice

    def install(self):
        self._choose_implementation()
        if self.implementation != "default":
            self._suit_scaler()
        for owner in (Optimizer, torch.nn.Module):
            replace(owner, "zero_grad", self._zero_grad)

    def say_what_was_met(self):
        """Asked in the first step: one of several optimizers may have the choice that others lack."""
        if self.fixed is not None and "optimizer" not in self.effective:
            self.effective["optimizer"] = "default"
            self.refuse(["optimizer"], self.fixed)

    def missing(self):
        """Asked after the second step: zero_grad, if nobody has called it, so that the knob has no effect."""
        return [] if "zero_grad" in self.effective else ["zero_grad"]

    def _choose_implementation(self):
        def make(original, optimizer, params, defaults):
            name = type(optimizer).__name__
            if "foreach" not in defaults or defaults.get("differentiable"):
                self.fixed = f"{name} has one implementation"
            elif self.implementation == "fused" and "fused" not in defaults:
                self.fixed = f"{name} has no fused implementation"
            else:
                if self.implementation != "default":
                    defaults["foreach"] = self.implementation == "foreach"
                    if "fused" in defaults:
                        defaults["fused"] = self.implementation == "fused"
                chosen = next((name for name in ("fused", "foreach") if defaults.get(name)), "default")
                self.effective.setdefault("optimizer", chosen)
            original(optimizer, params, defaults)
            if self.implementation != "default":
                choice = {name: defaults[name] for name in ("foreach", "fused") if name in defaults}
                optimizer.register_load_state_dict_pre_hook(functools.partial(_keep_choice, choice))

        replace(Optimizer, "__init__", make)

    def _suit_scaler(self):
        """An optimizer notes when it is made, by the script's own choice, whether its step unscales the gradients: only
        the fused ones do."""

        def step(original, scaler, optimizer, *args, **kwargs):
            if isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)):
                optimizer._step_supports_amp_scaling = bool(optimizer.defaults.get("fused"))
            return original(scaler, optimizer, *args, **kwargs)

        replace(GradScaler, "step", step)

    def _zero_grad(self, original, owner, set_to_none=True):
        if self.zero_grad is not None:
            set_to_none = self.zero_grad == "none"
        self.effective.setdefault("zero_grad", "none" if set_to_none else "zero")
        return original(owner, set_to_none=set_to_none)


def _keep_choice(choice, optimizer, checkpoint):
    """A checkpoint holds the implementation of the optimizer that it was made of, too."""
    groups = [{**group, **{name: choice[name] for name in choice.keys() & group.keys()}}
              for group in checkpoint["param_groups"]]
    return {**checkpoint, "param_groups": groups}
