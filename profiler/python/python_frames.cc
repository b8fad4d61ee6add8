#include <Python.h>

#include <memory>
#include <vector>

#include "profiler/python/thread_frames.h"
#include "profiler/source/source.h"

// Comes after Python.h, because it names the type of Python's objects.
#include "profiler/python/python_frames.h"

#if PY_VERSION_HEX >= 0x030D0000
// From 3.13 on PyThreadState_Swap() lets go of the interpreter lock, so that the other thread could
// run, and end, while we stand in for it. Python's own extensions call this function, which is
// declared for them alone. Null where a later Python does not export it.
extern "C" [[gnu::weak]] int _PyEval_SetProfile(PyThreadState*, Py_tracefunc, PyObject*);
#endif

namespace redline::profiler {
namespace {

/// ThreadFrames as a Python object, which the interpreter holds for a thread. While a window is
/// recorded, sys.getprofile() gives it.
struct FramesObject {
  PyObject_HEAD;
  ThreadFrames* frames;
};

void destroy(PyObject* object) {
  const Object type(reinterpret_cast<PyObject*>(Py_TYPE(object)));  // an instance owns its type
  delete reinterpret_cast<FramesObject*>(object)->frames;
  PyObject_Free(object);
}

PyTypeObject* frames_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)}, {0, nullptr}};
  static PyType_Spec spec = {"redline.PythonFrames", sizeof(FramesObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  return reinterpret_cast<PyTypeObject*>(type);
}

ThreadFrames& frames_in(PyObject* object) {
  return *reinterpret_cast<FramesObject*>(object)->frames;
}

/// The interpreter calls it for each call and return. Only a lack of memory can throw here.
int on_event(PyObject* object, PyFrameObject* frame, int event, PyObject* argument) {
  ThreadFrames& frames = frames_in(object);
  try {
    frames.handle(frame, event, argument);
  } catch (...) {
  }
  const ProfileHook& users = frames.users();
  if (users.function == nullptr) return 0;
  return users.function(users.object.get(), frame, event, argument);
}

/// Sets the profile function of any thread of the interpreter.
void set_profile(PyThreadState* thread, Py_tracefunc function, PyObject* object) {
#if PY_VERSION_HEX >= 0x030D0000
  if (thread == PyThreadState_Get()) {
    PyEval_SetProfile(function, object);
  } else if (_PyEval_SetProfile != nullptr && _PyEval_SetProfile(thread, function, object) < 0) {
    PyErr_Clear();  // an audit hook refused
  }
#else
  // That thread does not run meanwhile, because we hold the interpreter lock.
  PyThreadState* const before = PyThreadState_Swap(thread);
  PyEval_SetProfile(function, object);
  PyThreadState_Swap(before);
#endif
}

/// Records all threads from start to stop.
class PythonFrames {
 public:
  void start(PyObject* module_call, std::vector<std::string> path_prefixes, PyObject* thread_hook) {
    is_on_ = true;
    thread_hook_ = keep(thread_hook == Py_None ? nullptr : thread_hook);
    context_.names.open(module_call, std::move(path_prefixes));
    context_.last_id = 0;
    const int64_t now_ns = monotonic_ns();
    PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != nullptr; thread = PyThreadState_Next(thread)) join(thread, now_ns);
  }

  /// Begins to record the present thread. It has just started with the profile function that
  /// start() gave out.
  void enter_thread() {
    PyEval_SetProfile(nullptr, nullptr);
    if (thread_hook_ != nullptr) {
      PyObject* set_profile = PySys_GetObject("setprofile");  // borrowed
      const Object done(PyObject_CallOneArg(set_profile, thread_hook_.get()));
      if (done == nullptr) PyErr_Clear();
    }
    if (!is_on_) return;
    std::erase_if(threads_, [](const Object& object) {
      return Py_REFCNT(object.get()) == 1 && frames_in(object.get()).is_empty();  // has ended
    });
    join(PyThreadState_Get(), monotonic_ns());
  }

  /// Gives the number of threads that were not recorded to the end, because somebody else has set
  /// their profile function.
  int stop() {
    const int64_t now_ns = monotonic_ns();
    PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != nullptr; thread = PyThreadState_Next(thread)) {
      if (thread->c_profilefunc != on_event) continue;
      frames_in(thread->c_profileobj).close_all(now_ns);
      leave(thread);
    }
    int lost = 0;
    for (const Object& object : threads_) {
      ThreadFrames& frames = frames_in(object.get());
      if (frames.is_empty()) continue;
      frames.close_all(frames.last_event_ns());
      ++lost;
    }
    forget();
    return lost;
  }

  void forget() {
    PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != nullptr; thread = PyThreadState_Next(thread)) {
      if (thread->c_profilefunc == on_event) leave(thread);
    }
    threads_.clear();
    context_.names.close();
    is_on_ = false;
  }

 private:
  void join(PyThreadState* thread, int64_t now_ns) {
    if (thread->c_profilefunc == on_event) return;
    auto frames = make(thread);
    if (frames == nullptr) return PyErr_Clear();
    const Object innermost(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(thread)));
    frames_in(frames.get()).open_all(reinterpret_cast<PyFrameObject*>(innermost.get()), now_ns);
    set_profile(thread, on_event, frames.get());
    if (thread->c_profilefunc != on_event) return;
    threads_.push_back(std::move(frames));
  }

  Object make(PyThreadState* thread) {
    PyTypeObject* type = frames_type();
    if (type == nullptr) return nullptr;
    Object object(PyObject_New(PyObject, type));
    if (object == nullptr) return nullptr;
    auto& frames = reinterpret_cast<FramesObject*>(object.get())->frames;
    frames = nullptr;
    frames = new ThreadFrames(context_, static_cast<uint32_t>(thread->native_thread_id),
                              {thread->c_profilefunc, keep(thread->c_profileobj)});
    return object;
  }

  static void leave(PyThreadState* thread) {
    const Object held = keep(thread->c_profileobj);
    const ProfileHook& users = frames_in(held.get()).users();
    set_profile(thread, users.function, users.object.get());
  }

  bool is_on_ = false;
  FrameContext context_;
  Object thread_hook_;
  std::vector<Object> threads_;
};

/// Never destroyed, because the interpreter may be gone before this library.
PythonFrames& python_frames() {
  static auto* const frames = new PythonFrames;
  return *frames;
}

PyObject* enter_thread(PyObject*, PyObject*) {
  try {
    python_frames().enter_thread();
  } catch (...) {
    // No memory for this thread's frames.
  }
  Py_RETURN_NONE;
}

PyMethodDef g_enter_thread = {"redline_enter_thread", enter_thread, METH_VARARGS, nullptr};

std::vector<std::string> texts_of(PyObject* list) {
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; PyList_Check(list) && i < PyList_GET_SIZE(list); ++i) {
    texts.push_back(text_of(PyList_GET_ITEM(list, i)));
  }
  return texts;
}

}  // namespace
}  // namespace redline::profiler

const char* redline_python_version(void) {
  static constexpr char kVersion[] = {'0' + PY_MAJOR_VERSION, '.', '0' + PY_MINOR_VERSION / 10,
                                      '0' + PY_MINOR_VERSION % 10, '\0'};
  return kVersion;
}

PyObject* redline_python_start(PyObject* module_call, PyObject* path_prefixes,
                               PyObject* thread_hook) {
  using namespace redline::profiler;
  try {
    python_frames().start(PyCode_Check(module_call) ? module_call : nullptr,
                          texts_of(path_prefixes), thread_hook);
    return PyCFunction_New(&g_enter_thread, nullptr);
  } catch (...) {
    return PyErr_NoMemory();
  }
}

int redline_python_stop(void) {
  try {
    return redline::profiler::python_frames().stop();
  } catch (...) {
    return 0;
  }
}

void redline_python_forget(void) { redline::profiler::python_frames().forget(); }
