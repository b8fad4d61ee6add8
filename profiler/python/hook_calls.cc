#include "profiler/python/hook_calls.h"

#include <iterator>
#include <utility>
#include <vector>

#include "profiler/c_api.h"
#include "profiler/python/loader_queue.h"
#include "profiler/python/python_object.h"
#include "trace/emit/step_log_terms.h"

namespace redline::profiler {

Hooks& hooks() {
  static Hooks the_hooks;
  return the_hooks;
}

namespace {

void enter(trace::LogPart part) { redline_log_enter(static_cast<int>(part)); }
void leave(trace::LogPart part) { redline_log_leave(static_cast<int>(part)); }

/// An error of a helper is none of the job's: it is told once. What ends the process, or comes from
/// the keyboard, belongs to the script and stays set.
void forgive(PyObject* helper) {
  if (PyErr_Occurred() == nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  static bool has_told = false;
  if (has_told) {
    PyErr_Clear();
  } else {
    PyErr_WriteUnraisable(helper);
  }
  has_told = true;
}

/// Null where it raised, or where there is none.
[[gnu::hot]] Object ask(PyObject* helper, Arguments arguments, size_t count,
                        PyObject* names = nullptr) {
  if (helper == nullptr || helper == Py_None) return nullptr;
  Object answer(PyObject_Vectorcall(helper, arguments, count, names));
  if (answer == nullptr) forgive(helper);
  return answer;
}

[[gnu::hot]] bool end_step(const std::optional<TrainingLoop::Step>& step) {
  return !step || !hooks().finds_steps || log_step(*step);
}

/// Samples of the batch that the iterator has just given.
[[gnu::hot]] std::optional<int64_t> samples_in(PyObject* batch, PyObject* iterator,
                                               int64_t number) {
  static PyObject* const sizes_name = PyUnicode_InternFromString("_redline_sizes");
  static PyObject* const count_name = PyUnicode_InternFromString("_redline_samples_in");
  const Object sizes = attribute(iterator, sizes_name);
  if (sizes != nullptr && PyTuple_Check(sizes.get()) && PyTuple_GET_SIZE(sizes.get()) == 2) {
    const auto size = number_of(PyTuple_GET_ITEM(sizes.get(), 0));
    const auto samples = number_of(PyTuple_GET_ITEM(sizes.get(), 1));
    if (!size || !samples) return {};
    return number * *size <= *samples ? *size : *samples - (number - 1) * *size;
  }
  if (sizes.get() != Py_None) return {};
  const Object samples_of = attribute(iterator, count_name);
  return number_of(ask(samples_of.get(), &batch, 1).get());
}

/// Whether the call of the model is one of training.
[[gnu::hot]] bool tell_of_model(PyObject* module) {
  static PyObject* const training_name = PyUnicode_InternFromString("training");
  TrainingLoop& loop = hooks().loop;
  const Object training = attribute(module, training_name);
  const bool in_training = training != nullptr && PyObject_IsTrue(training.get()) == 1;
  const bool with_gradients = ask(hooks().takes_gradients, nullptr, 0).get() == Py_True;
  if (in_training && with_gradients) {
    loop.model_trains(module);
  } else if (in_training) {
    loop.model_looks_ahead();
  } else if (with_gradients) {
    loop.model_infers();
  } else {
    loop.model_evaluates(module);
  }
  return in_training && with_gradients;
}

[[gnu::hot]] bool is_model(PyObject* module) {
  const Object id(PyLong_FromVoidPtr(module));
  PyObject* known = PyDict_GetItemWithError(hooks().is_model, id.get());
  if (known != nullptr) return known == Py_True;
  return ask(hooks().find_model, &module, 1).get() == Py_True;
}

void count_tokens(Arguments arguments, size_t count, PyObject* names) {
  Hooks& all = hooks();
  const Object samples(PyLong_FromLongLong(all.loop.batch_samples()));
  const size_t all_arguments =
      count + (names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(names)));
  std::vector<PyObject*> passed = {samples.get()};
  passed.insert(passed.end(), arguments, arguments + all_arguments);
  const Object tokens = ask(all.model->helper, passed.data(), count + 1, names);
  all.reads_sequences = tokens.get() != Py_None;
  if (all.reads_sequences) {
    const auto number = number_of(tokens.get());
    all.loop.add_tokens(number == TrainingLoop::kUnknown ? std::nullopt : number);
  }
}

/// The exception that is on its way meanwhile is there again afterwards.
template <class Action>
void aside_of_exception(Action action) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* exception = PyErr_GetRaisedException();
  action();
  if (exception != nullptr) PyErr_SetRaisedException(exception);
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  action();
  if (type != nullptr) PyErr_Restore(type, value, traceback);
#endif
}

void remove(const Object& watch) {
  aside_of_exception([&] {
    const Object removed(PyObject_CallMethod(watch.get(), "remove", nullptr));
    if (removed == nullptr) forgive(watch.get());
  });
}

/// By the sampler, which an iterator has from its loader.
[[gnu::hot]] LoaderId loader_of(PyObject* iterator) {
  static PyObject* const sampler_name = PyUnicode_InternFromString("_index_sampler");
  return LoaderId{reinterpret_cast<uintptr_t>(attribute(iterator, sampler_name).get())};
}

/// The first parameter that `optimizer` updates; null where it has none.
[[gnu::hot]] PyObject* first_parameter(PyObject* optimizer) {
  static PyObject* const groups_name = PyUnicode_InternFromString("param_groups");
  static PyObject* const parameters_name = PyUnicode_InternFromString("params");
  const Object groups = attribute(optimizer, groups_name);
  if (groups == nullptr || !PyList_Check(groups.get())) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups.get()); ++i) {
    PyObject* group = PyList_GET_ITEM(groups.get(), i);
    PyObject* parameters =
        PyDict_Check(group) ? PyDict_GetItemWithError(group, parameters_name) : nullptr;
    if (parameters != nullptr && PyList_Check(parameters) && PyList_GET_SIZE(parameters) > 0) {
      return PyList_GET_ITEM(parameters, 0);
    }
  }
  return nullptr;
}

/// Whether `optimizer` leads (python/redline/_optimizer_steps.py), which does not change while no
/// other steps.
[[gnu::hot]] bool is_leader(PyObject* optimizer, PyObject* ends_step) {
  Hooks::Leader& leader = hooks().leader;
  const Hooks::Leader stepped = {optimizer, first_parameter(optimizer)};
  if (stepped == leader) return true;
  const Object optimizer_id(PyLong_FromVoidPtr(stepped.optimizer));
  const Object parameter_id(PyLong_FromVoidPtr(stepped.parameter));
  PyObject* arguments[] = {optimizer_id.get(), parameter_id.get()};
  const bool leads = ask(ends_step, arguments, std::size(arguments)).get() == Py_True;
  leader = leads ? stepped : Hooks::Leader();
  return leads;
}

/// False where something is raised that belongs to the script.
bool tell_of_batches(Arguments batch, size_t count) {
  PyObject*& watch = hooks().watch_batches;
  const Object answer = ask(watch, batch, count);
  if (answer == nullptr || answer.get() == Py_True) watch = nullptr;
  return PyErr_Occurred() == nullptr;
}

/// A step of the job has ended. Steps that nobody records are only numbered; where no recording
/// asked for them (begin_recording()), something else marks the steps, and numbers them.
[[gnu::hot]] void tell_recording() {
  Hooks& all = hooks();
  if (all.step_ended == nullptr) return;
  if (all.idle_step == Hooks::kBusy) {
    ask(all.step_ended, nullptr, 0);
    return;
  }
  constexpr int kNotCaptured = 1;
  const int began = redline_next_step(all.idle_step + 1);
  if (began == kNotCaptured) {
    ++all.idle_step;
    return;
  }
  const Object outcome(PyLong_FromLong(began));
  const Object number(PyLong_FromLongLong(std::exchange(all.idle_step, Hooks::kBusy)));
  PyObject* arguments[] = {outcome.get(), number.get()};
  ask(all.idle_ended, arguments, std::size(arguments));
}

}  // namespace

[[gnu::hot]] bool log_step(TrainingLoop::Step step) {
  const auto log = step.is_inference ? redline_log_batch : redline_log_step;
  const int outcome = log(step.samples, step.tokens);
  if (hooks().watch_batches != nullptr && !tell_of_batches(nullptr, 0)) return false;
  if (outcome == 0) return true;
  const Object what(PyLong_FromLong(outcome));
  const Object samples(PyLong_FromLongLong(step.samples));
  const Object tokens(PyLong_FromLongLong(step.tokens));
  PyObject* arguments[] = {what.get(), samples.get(), tokens.get(),
                           step.is_inference ? Py_True : Py_False};
  ask(hooks().end_step, arguments, std::size(arguments));
  return PyErr_Occurred() == nullptr;
}

[[gnu::hot]] PyObject* call_loader(PyObject*, Arguments arguments, size_t count, PyObject* names) {
  static PyObject* const number_name = PyUnicode_InternFromString("_num_yielded");
  thread_local bool is_reading = false;
  Hooks& all = hooks();
  // Loaders read others: rank 0 of accelerate's dispatcher reads what it hands out to all ranks.
  if (is_reading || PyVectorcall_NARGS(count) != 1) {
    return PyObject_Vectorcall(all.loader->original, arguments, count, names);
  }
  if (!end_step(all.loop.batch_is_due())) return nullptr;
  const LoaderQueue queue(arguments[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  enter(trace::LogPart::kDataWait);
  is_reading = true;
  Object batch(PyObject_Vectorcall(all.loader->original, arguments, count, names));
  is_reading = false;
  const bool lay_ready = batch != nullptr && queue.had_batch_of(arguments[0]);
  const auto turned_out = lay_ready ? trace::LogPart::kHandOver : trace::LogPart::kDataWait;
  redline_log_leave_as(static_cast<int>(trace::LogPart::kDataWait), static_cast<int>(turned_out));
  if (batch == nullptr) {
    aside_of_exception([&] { all.loop.pass_ended(loader_of(arguments[0])); });
    return nullptr;
  }
  const auto number = number_of(attribute(arguments[0], number_name).get());
  const auto samples =
      number ? samples_in(batch.get(), arguments[0], *number) : std::optional<int64_t>();
  const LoaderId loader = loader_of(arguments[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  all.loop.batch_came(loader, samples, number == 1);
  if (all.watch_batches != nullptr) {
    PyObject* const its_batch = batch.get();
    if (!tell_of_batches(&its_batch, 1)) return nullptr;
  }
  return batch.release();
}

[[gnu::hot]] PyObject* call_model(PyObject*, Arguments arguments, size_t count, PyObject* names) {
  Hooks& all = hooks();
  const size_t positional = static_cast<size_t>(PyVectorcall_NARGS(count));
  // In a backward pass, checkpointing calls a part of the model again.
  if (all.is_in_model || all.engines > 0 || positional == 0 || !is_model(arguments[0])) {
    if (PyErr_Occurred() != nullptr) return nullptr;
    return PyObject_Vectorcall(all.model->original, arguments, count, names);
  }
  all.is_in_model = true;
  if (tell_of_model(arguments[0]) && all.reads_sequences) {
    count_tokens(arguments, positional, names);
  }
  enter(trace::LogPart::kForward);
  PyObject* result = nullptr;
  if (PyErr_Occurred() == nullptr) {
    result = PyObject_Vectorcall(all.model->original, arguments, count, names);
  }
  leave(trace::LogPart::kForward);
  all.is_in_model = false;
  return result;
}

[[gnu::hot]] PyObject* call_backward(PyObject* self, Arguments arguments, size_t count,
                                     PyObject* names) {
  const auto* hook = reinterpret_cast<Hook*>(self);
  // Reentrant checkpointing runs backward passes within another, which are no passes of the script.
  if (hooks().engines > 0) return PyObject_Vectorcall(hook->original, arguments, count, names);
  enter(trace::LogPart::kBackward);
  const Object watch =
      hooks().reduces ? ask(hook->helper, arguments, count, names) : Object(nullptr);
  Object result;
  if (PyErr_Occurred() == nullptr) {
    result.reset(PyObject_Vectorcall(hook->original, arguments, count, names));
  }
  leave(trace::LogPart::kBackward);  // and the wait for the reducer
  if (watch != nullptr && watch.get() != Py_None) remove(watch);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto step = hooks().loop.backward_ended(hooks().optimizers > 0);
  if (!step) return result.release();
  if (!end_step(step)) return nullptr;
  tell_recording();
  return PyErr_Occurred() == nullptr ? result.release() : nullptr;
}

/// What backward passes and torch.autograd.grad() run.
[[gnu::hot]] PyObject* call_engine(PyObject* self, Arguments arguments, size_t count,
                                   PyObject* names) {
  ++hooks().engines;
  PyObject* result =
      PyObject_Vectorcall(reinterpret_cast<Hook*>(self)->original, arguments, count, names);
  --hooks().engines;
  return result;
}

/// An optimizer that calls another one (ZeroRedundancyOptimizer) counts once, as the outer one.
[[gnu::hot]] PyObject* call_optimizer(PyObject* self, Arguments arguments, size_t count,
                                      PyObject* names) {
  const auto* hook = reinterpret_cast<Hook*>(self);
  Hooks& all = hooks();
  ++all.optimizers;
  if (all.logs) enter(trace::LogPart::kOptimizer);
  Object result(PyObject_Vectorcall(hook->original, arguments, count, names));
  if (all.logs) leave(trace::LogPart::kOptimizer);
  if (--all.optimizers > 0 || result == nullptr || PyVectorcall_NARGS(count) == 0) {
    return result.release();
  }
  const bool ends = is_leader(arguments[0], hook->helper);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!ends) return result.release();
  if (all.logs && !end_step(all.loop.optimizer_stepped())) return nullptr;
  tell_recording();
  return PyErr_Occurred() == nullptr ? result.release() : nullptr;
}

PyObject* call_part(PyObject* self, Arguments arguments, size_t count, PyObject* names) {
  const auto* hook = reinterpret_cast<Hook*>(self);
  redline_log_enter(hook->part);
  PyObject* result = PyObject_Vectorcall(hook->original, arguments, count, names);
  redline_log_leave(hook->part);
  return result;
}

}  // namespace redline::profiler
