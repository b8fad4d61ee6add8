// The open Python frames of one thread, and the profile function that keeps them.
//
// The interpreter gives a profile function an object that we choose. We choose this one, so that no
// look-up by thread is needed. Everything here happens under the interpreter lock.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "profiler/log/record.h"
#include "profiler/python/frame_names.h"

namespace redline::profiler {

/// The state that all threads share.
struct FrameContext {
  FrameNames names;
  uint64_t last_id = 0;  ///< "Python id"
};

/// A profile function, as PyEval_SetProfile takes it.
struct ProfileHook {
  Py_tracefunc function = nullptr;
  Object object;
};

class ThreadFrames {
 public:
  ThreadFrames(FrameContext& context, uint32_t tid, ProfileHook users)
      : context_(context), tid_(tid), users_(std::move(users)) {}

  /// Opens `innermost` and the frames that called it.
  void open_all(PyFrameObject* innermost, int64_t now_ns);
  /// Records all open frames as if they ended now.
  void close_all(int64_t now_ns);

  void handle(PyFrameObject* frame, int event, PyObject* argument);

  [[nodiscard]] bool is_empty() const { return open_.empty(); }
  [[nodiscard]] int64_t last_event_ns() const { return last_event_ns_; }
  /// The user's own profile function, which goes on to get all events.
  [[nodiscard]] const ProfileHook& users() const { return users_; }

 private:
  struct OpenFrame {
    const void* frame;  ///< null: a built-in function
    int64_t begin_ns;
    uint64_t id;
    FrameName name;
  };

  void push(const void* frame, FrameName name, int64_t begin_ns);
  void pop(int64_t end_ns);
  void leave(const void* frame);

  FrameContext& context_;
  const uint32_t tid_;
  const ProfileHook users_;
  std::vector<OpenFrame> open_;
  int64_t last_event_ns_ = 0;
};

}  // namespace redline::profiler
