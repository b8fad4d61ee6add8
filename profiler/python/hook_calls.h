// What happens when a script calls something that has a hook: a loader, a model, a backward pass,
// an optimizer. No frame of Python is made, because within a step, whose code and data fill the
// caches, each costs microseconds. For the same reason all that runs at each step, here and in the
// step log, is [[gnu::hot]]: the linker puts it side by side, for each page costs, too.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "profiler/python/training_loop.h"

namespace redline::profiler {

using Arguments = PyObject* const*;

/// Calls the original within a part of the step, and sees what the training loop does by that.
/// Never freed, as what it names, because the interpreter may be gone before this library.
struct Hook {
  PyObject_HEAD;
  vectorcallfunc call;
  PyObject* original;
  PyObject* helper;  // for what is rare, or only Python can tell
  int part;
  PyObject* attributes;  // a dict: the name, the documentation and the rest of what is wrapped
};

/// What the hooks know of this process. All of it is under the interpreter lock.
struct Hooks {
  // Of the step log.
  bool logs = false;
  bool finds_steps = false;  // else somebody else ends them
  TrainingLoop loop;
  bool is_in_model = false;        // not of a thread: models may call layers on their own threads
  bool reads_sequences = true;     // as long as nothing else is known
  bool reduces = false;            // gradients, in backward passes
  PyObject* end_step = nullptr;    // helper: (what redline_log_step gave, and what it got)
  PyObject* is_model = nullptr;    // by id
  PyObject* find_model = nullptr;  // helper that fills it
  PyObject* takes_gradients = nullptr;  // function of torch
  // Helper: (batch) or, at a step's end, (); it answers True once it has seen enough.
  PyObject* watch_batches = nullptr;
  int engines = 0;  // of autograd that run
  // There is one of each, so they need not be told which they are: see call_at_once().
  Hook* loader = nullptr;
  Hook* model = nullptr;

  /// By addresses: what they tell of is not kept alive.
  struct Leader {
    PyObject* optimizer = nullptr;
    PyObject* parameter = nullptr;  // the first of those that it updates
    bool operator==(const Leader&) const = default;
  };
  int optimizers = 0;  // that run, one within the other
  Leader leader;       // stepped last, if that ended a step of the job

  // Of a recording.
  static constexpr int64_t kBusy = -1;
  int64_t idle_step = kBusy;       // the number of the present step, if no step is to be recorded
  PyObject* step_ended = nullptr;  // helper: ()
  PyObject* idle_ended = nullptr;  // helper: (what redline_next_step gave, number of the step)
};

/// Of this process.
[[nodiscard]] Hooks& hooks();

/// False where something is raised that belongs to the script.
[[nodiscard]] bool log_step(TrainingLoop::Step step);

// The field `call` of hooks. Exceptions of what is called pass unchanged; an error of a hook never
// reaches the script.
[[nodiscard]] PyObject* call_loader(PyObject* hook, Arguments arguments, size_t count,
                                    PyObject* names);
[[nodiscard]] PyObject* call_model(PyObject* hook, Arguments arguments, size_t count,
                                   PyObject* names);
[[nodiscard]] PyObject* call_backward(PyObject* hook, Arguments arguments, size_t count,
                                      PyObject* names);
[[nodiscard]] PyObject* call_engine(PyObject* hook, Arguments arguments, size_t count,
                                    PyObject* names);
[[nodiscard]] PyObject* call_optimizer(PyObject* hook, Arguments arguments, size_t count,
                                       PyObject* names);
[[nodiscard]] PyObject* call_part(PyObject* hook, Arguments arguments, size_t count,
                                  PyObject* names);

}  // namespace redline::profiler
