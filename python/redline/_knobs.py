"""Sets training knobs from outside, in scripts that know nothing of Redline.

REDLINE_KNOBS holds them as a JSON object, {"batch_size": 256, "amp": "bf16"}; `redline run` and
each trial of `autotune` set it. If REDLINE_TRIAL names a FIFO, the process is a rank of a trial
and reports its steps, samples and failures there. A knob that cannot be applied is named with the reason.
"""

import collections
import contextlib
import json
import os
import sys
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from redline._accumulation_knob import AccumulationKnob
from redline._amp_knob import TYPES, AmpKnob, device_of
from redline._checkpointing_knob import CheckpointingKnob
from redline._compilation_time import CompilationTime
from redline._compile_knob import CompileKnob, compile_mode
from redline._ddp_knobs import KNOBS as DDP_KNOBS
from redline._ddp_knobs import DdpKnobs
from redline._hidden_code import hide_from_compiler
from redline._knob_values import at_least, on_or_off, one_of
from redline._library import RecorderError, recorder
from redline._loader_knobs import KNOBS as LOADER_KNOBS
from redline._loader_knobs import LoaderKnobs
from redline._malloc_knob import VALUES as MALLOC_VALUES
from redline._malloc_knob import keep_freed_memory
from redline._malloc_knob import why_not as why_malloc_stays
from redline._memory_errors import MemoryErrors
from redline._memory_format_knob import MemoryFormatKnob
from redline._optimizer_knobs import KNOBS as OPTIMIZER_KNOBS
from redline._optimizer_knobs import OptimizerKnobs
from redline._optimizer_steps import parameters_of
from redline._outermost import remember, watch_models
from redline._rank import is_launcher, rank_and_world_size
from redline._stand_in import replace
from redline._torch_settings import autocast_seen, note_autocast, watch_autocast
from redline._training_signs import holds_parameter, is_on_meta, readable_twice
from redline._trial_report import TrialReporter

Setting = collections.namedtuple("Setting", "takes apply read")


def _set_tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


# Knobs that are settings of the whole process. The tables of other knobs only say which values these take, because a
# class beside each table applies them.
SETTINGS = {
    "cudnn_benchmark": Setting(
        on_or_off,
        lambda on: setattr(torch.backends.cudnn, "benchmark", on),
        lambda: torch.backends.cudnn.benchmark,
    ),
    "tf32": Setting(on_or_off, _set_tf32, lambda: torch.backends.cuda.matmul.allow_tf32),
    "num_threads": Setting(at_least(1), torch.set_num_threads, torch.get_num_threads),
}
MODEL_KNOBS = {
    "amp": one_of(TYPES),
    "channels_last": on_or_off,
    "compile": compile_mode,
    "checkpointing": on_or_off,
    "accumulation": at_least(1),
}
# All knobs that this hook sets. autotune has the same table in tuner/space/hook_knobs.cc; test_knob_tables.py compares.
KNOBS = {
    **LOADER_KNOBS,
    **{name: setting.takes for name, setting in SETTINGS.items()},
    "malloc": one_of(MALLOC_VALUES),
    **MODEL_KNOBS,
    **OPTIMIZER_KNOBS,
    **DDP_KNOBS,
}


def parse(text):
    """Turns REDLINE_KNOBS into values that can be applied, such as True for "on". Raises KnobError for a value that is
    not allowed. A name that this hook does not know keeps its value."""
    values = json.loads(text)
    return {name: KNOBS[name](name, value) if name in KNOBS else value for name, value in values.items()}


class Knobs:
    """All knobs of one process and what they are reported to; install() once."""

    def __init__(self, values, reporter):
        self.reporter = reporter
        self.values = values

        def of(names):
            return {name: values[name] for name in names if name in values}

        self.settings = of(SETTINGS)
        self.loader = LoaderKnobs(of(LOADER_KNOBS), reporter, self.refuse, self.note)
        self.ddp = DdpKnobs(of(DDP_KNOBS))
        self.optimizer = OptimizerKnobs(of(OPTIMIZER_KNOBS), self.refuse)
        self.amp = AmpKnob(values["amp"], self.note) if "amp" in values else None
        batches = values.get("accumulation")
        self.accumulation = AccumulationKnob(batches, self) if batches and batches > 1 else None
        self.checkpointing = CheckpointingKnob(values.get("checkpointing"))
        self.memory_format = MemoryFormatKnob(values.get("channels_last"))
        self.compile = CompileKnob(values.get("compile", False))
        self.why_malloc_stays = why_malloc_stays()
        self.malloc = values.get("malloc", "default") if self.why_malloc_stays is None else "default"
        self.unknown = sorted(set(values) - set(KNOBS))
        self.counted_model = None
        self.optimizers = {}  # weak references by id, since optimizers may define equality
        self.trained = set()  # ids of models that ran in training mode, and of those that DDP held then
        self.trained_otherwise = set()  # and of those that ran in evaluation mode and are an optimizer's
        self.untrained = set()  # ids of models without a parameter that an optimizer updates, such as a teacher
        self.used_model = False  # a model was called, with gradients or for inference
        self.device = None  # on which the model trains
        self.steps = 0
        self.stepped = set()  # ids of the optimizers that have stepped; None from the second iteration on
        self.runs_backward = False

    def refuse(self, knobs, why, above=None):
        """These knobs can do nothing in this script, or, if `above` is given, nothing with values above it. A trial
        reports this of all knobs, set or not, so that the search leaves them out."""
        if self.reporter is not None:
            self.reporter.unused(knobs, why, above)
        elif asked := [name for name in knobs if str(self.values.get(name, False)) not in ("False", "off", "default")
                       and (above is None or self.values[name] > above)]:
            self.note(f"{', '.join(asked)} not applied: {why}")

    def step_is_held_back(self):
        if self.reporter is not None:
            self.reporter.has_optimizer = True

    def schedule_is_held_back(self):
        if self.reporter is None:  # a trial is too short for it to matter
            self.note("accumulation: the script advances its learning-rate schedule after each batch, which now counts "
                      "once a step. If the schedule's length is a number of batches, divide it by "
                      f"{self.accumulation.batches}")

    def note(self, text):
        if self.reporter is not None:
            self.reporter.note(text)
        elif rank_and_world_size()[0] == 0:
            print(f"redline: {text}", file=sys.stderr)

    def install(self):
        self._apply_settings()
        if self.malloc == "keep":
            keep_freed_memory()
        self.loader.install()
        self.ddp.install()
        self.optimizer.install()
        # Amp first, so that accumulation's wrapper of backward() is around its: that one looks at the gradients, which
        # amp scales meanwhile.
        if self.amp is not None:
            self.amp.install()
        if self.accumulation is not None:
            self.accumulation.install()
        self.memory_format.install()
        if self.reporter is not None or not self.values.keys().isdisjoint(MODEL_KNOBS):
            watch_models(self._enter_model, self._leave_model)
        register_optimizer_step_post_hook(self._after_step)
        self._notice_optimizers()
        if self.reporter is not None:
            self._watch_trial()

    def _apply_settings(self):
        for name, value in self.settings.items():
            SETTINGS[name].apply(value)

    def _notice_optimizers(self):
        def make(original, optimizer, *args, **kwargs):
            self.loader.begin_training()
            original(optimizer, *args, **kwargs)
            number = id(optimizer)
            self.optimizers[number] = weakref.ref(optimizer, lambda _: self.optimizers.pop(number, None))
            if self.reporter is not None:
                self.reporter.optimizer = weakref.ref(optimizer)

        def add_parameters(original, *args, **kwargs):
            self.untrained.clear()
            return original(*args, **kwargs)

        replace(torch.optim.Optimizer, "__init__", make)
        replace(torch.optim.Optimizer, "add_param_group", add_parameters)

    def _watch_trial(self):
        self.reporter.watch_exceptions()
        self.reporter.first_step_ended = self._say_what_was_met
        watch_autocast()
        MemoryErrors(self.reporter.report_error).install()
        CompilationTime(self.reporter.compilation).install()
        self._watch_gradients()
        register_optimizer_step_pre_hook(self._before_step)
        if self.reporter.marker:
            self._watch_marker()
        for function in (TrialReporter.add_step, TrialReporter.note_loss, TrialReporter.backward_ended):
            hide_from_compiler(function)
        limit = os.environ.get("REDLINE_MEMORY_LIMIT")
        if limit:
            torch.cuda._lazy_call(lambda: _limit_device_memory(int(limit)))

    def _watch_marker(self):
        try:
            recorder().watch_marker(self.reporter.marker, self.reporter.step_begins)
        except RecorderError as error:
            self.reporter.fail("invalid", "", f"--step-marker: {error}")

    def _watch_gradients(self):
        def watched_backward(backward, tensors, *args, **kwargs):
            # Reentrant checkpointing runs one within another.
            if self.runs_backward or is_on_meta(tensors):
                return backward(tensors, *args, **kwargs)
            self.loader.begin_training()
            self.reporter.note_loss(tensors)
            self.runs_backward = True
            try:
                result = backward(tensors, *args, **kwargs)
            finally:
                self.runs_backward = False
            self.reporter.backward_ended()
            return result

        def watched_grad(grad, outputs, inputs, *args, **kwargs):
            self.loader.begin_training()
            is_compiling = torch.compiler.is_compiling()
            if not is_compiling:
                inputs = readable_twice(inputs)
            result = grad(outputs, inputs, *args, **kwargs)
            # In a script that also calls backward() this is a part of the loss, such as a gradient penalty.
            if not is_compiling and holds_parameter(inputs):
                self.reporter.gradients_taken()
            return result

        replace(torch.autograd, "backward", watched_backward)
        hide_from_compiler(torch.autograd.backward)
        replace(torch.autograd, "grad", watched_grad)

    def _trains(self, module):
        """transformers' from_pretrained() gives models in evaluation mode, and Lightning leaves them there."""
        if not torch.is_grad_enabled():
            return False
        if module.training:
            self._meet_training_mode(module)
            return True
        if id(module) in self.trained or id(module) in self.untrained or not self.loader.trains:
            return False
        if id(module) not in self.trained_otherwise:
            optimizers = [reference() for reference in list(self.optimizers.values())]
            owned = {id(parameter) for optimizer in optimizers if optimizer is not None
                     for parameter in parameters_of(optimizer)}
            if not any(id(parameter) in owned for parameter in module.parameters()):
                if self.steps > 0:  # before, a library may put other parameters into the optimizer
                    remember(module, self.untrained)
                return False
            remember(module, self.trained_otherwise)
        return True

    def _meet_training_mode(self, module):
        if id(module) in self.trained:
            return
        remember(module, self.trained)
        if isinstance(inner := getattr(module, "module", None), torch.nn.Module):
            remember(inner, self.trained)
        if self.steps == 0 and self.counted_model in self.trained_otherwise & self.trained:
            self.trained_otherwise.discard(self.counted_model)
            self.counted_model = None  # it was evaluated before the training
            self.reporter.forget_forwards()

    def _enter_model(self, module, args, kwargs):
        if is_on_meta((*args, *kwargs.values())):
            return args, kwargs
        trains = self._trains(module)
        if torch.is_grad_enabled() or not self.loader.trains:
            self._note_use(module)
        if self.steps == 0:
            self._apply_settings()  # again, because the script may have set them meanwhile
        if trains and module.training:
            self.loader.model = weakref.ref(module)
            self.checkpointing.enter_model(module)  # which transformers' models do in this mode alone
        args = self.memory_format.enter_model(module, args)
        if trains or module.training or not self.loader.trains:
            self.compile.enter_model(module)
        if self.amp is not None:
            self.amp.enter_model(module, trains)
        if self.accumulation is not None and trains:
            self.accumulation.enter_model(module)
        if self.reporter is not None:
            gradients = torch.is_grad_enabled()
            evaluates = gradients and self.loader.trains and not (trains or module.training)
            fits = trains or evaluates or not (gradients or module.training)
            self.reporter.forward(gradients, module if fits else None, evaluates)
            if trains:
                self._observe(module, args, kwargs)
            elif not self.loader.trains:
                self.reporter.has_inferred = True
                self._see_model(module)
        return args, kwargs

    def _note_use(self, module):
        self.used_model = True
        self.loader.trained()
        if self.steps == 0:
            self.memory_format.look_for_convolution(module)

    def _leave_model(self, module):
        if self.amp is not None:
            self.amp.leave_model(module)

    def _observe(self, module, args, kwargs):
        if self.counted_model is None:
            self.counted_model = id(module)
        if self.counted_model == id(module):
            self.reporter.add_forward(module, (*args, *kwargs.values()))
        if self.steps == 0:
            self._see_model(module)

    def _see_model(self, module):
        self.device = device_of(module)
        self.compile.see_model(module)
        self.memory_format.see_model(module)
        note_autocast()

    def _before_step(self, *_):
        if not torch.compiler.is_compiling():
            self.reporter.is_stepping = True

    def _after_step(self, optimizer, args, kwargs):
        if torch.compiler.is_compiling():  # the script compiles its whole step: backward passes then show the steps
            return
        self._apply_settings()
        self.loader.trained()
        self.loader.step_ended()
        self.steps += 1
        # The first of `args` is the optimizer itself.
        by_closure = any(argument is not None for argument in (*args[1:], *kwargs.values()))
        if self.steps == 1 and self.accumulation is None and by_closure:
            self.refuse(["accumulation"], "the optimizer steps with a closure", above=1)
        if self.reporter is None and self.steps == 1:
            self._say_what_was_met()
        if self._is_second_iteration(optimizer):
            if missing := self.optimizer.missing():
                self.refuse(missing, "no zero_grad is called")
            if self.reporter is not None:
                self.reporter.seen(self.optimizer.effective)
        if self.reporter is not None:
            self.reporter.add_step()

    def _is_second_iteration(self, optimizer):
        """Whether this is the first step of the second iteration: an optimizer steps again. Several may step in each."""
        if self.stepped is None:
            return False
        if id(optimizer) not in self.stepped:
            self.stepped.add(id(optimizer))
            return False
        self.stepped = None
        return True

    def _say_what_was_met(self):
        self.loader.has_stepped = True
        self.optimizer.say_what_was_met()
        self.loader.refuse_what_had_no_loader()
        if missing := self.ddp.missing():
            self.refuse(missing, "no DistributedDataParallel was made")
        if self.why_malloc_stays:
            self.refuse(["malloc"], self.why_malloc_stays)
        if not self.used_model:
            self.refuse(["amp", "channels_last", "compile", "checkpointing"],
                        "no call of a model was seen (within a compiled function it is hidden: compile the model instead)")
        else:
            if not self.memory_format.has_convolution:
                self.refuse(["channels_last"], "the model has no convolution over images")
            if self.compile.script_compiles:
                self.refuse(["compile"], "the script compiles its model itself")
            if self.checkpointing.is_on is None:
                self.refuse(["checkpointing"], "the model trains in evaluation mode, without activation checkpointing"
                            if self.trained_otherwise and not self.trained else
                            "the model offers no activation checkpointing")
        if self.reporter is not None and not self.reporter.optimizer_stepped:
            self.refuse(["accumulation"], "no optimizer steps")
        if self.reporter is not None and self.accumulation is None and (self.reporter.batches_a_step() or 1) > 1:
            self.refuse(["accumulation"], f"the script accumulates {self.reporter.batches_a_step()} batches itself")
        if "batch_size" in self.loader.values and "transformers.trainer" in sys.modules:
            self.note("train_samples_per_second of transformers counts the batch size of its arguments, not the knob's")
        if self.unknown:
            self.note(f"{', '.join(self.unknown)} not applied: only "
                      f"{', '.join(KNOBS)} can be set from outside; others need a placeholder in the command")
        if self.reporter is not None:
            self.reporter.seen(self._effective())

    def _effective(self):
        values = dict(self.ddp.effective)  # LoaderKnobs has reported its own already
        types = {str(kind).removeprefix("torch."): name for name, kind in TYPES.items()}
        values["amp"] = types.get(autocast_seen(self.device, self.reporter.is_inference), "off")
        values["channels_last"] = self.memory_format.is_on
        values["compile"] = self.compile.effective
        values["checkpointing"] = self.checkpointing.is_on
        values["accumulation"] = self.reporter.batches_a_step() or None
        values["malloc"] = self.malloc
        for name, setting in SETTINGS.items():
            with contextlib.suppress(RuntimeError, AttributeError):  # reading tf32 fails if fp32_precision was set
                values[name] = setting.read()
        return values


def _limit_device_memory(limit):
    """Makes the allocator raise a real OutOfMemoryError beyond `limit` bytes on a device."""
    current = torch.cuda.current_device()
    for device in range(torch.cuda.device_count()):
        total = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total), device)
    if torch.cuda.current_device() != current:  # older torch makes each device the current one
        torch.cuda.set_device(current)


def install():
    """The start-up hook calls this after `import torch` if REDLINE_KNOBS is set."""
    if is_launcher(sys.orig_argv):
        return
    trial = os.environ.get("REDLINE_TRIAL")
    reporter = TrialReporter(trial) if trial else None
    try:
        values = parse(os.environ["REDLINE_KNOBS"])
    except ValueError as error:
        if reporter is not None:
            reporter.fail("invalid", "", str(error))
        raise
    Knobs(values, reporter).install()
