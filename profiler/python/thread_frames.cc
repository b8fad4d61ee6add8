#include "profiler/python/thread_frames.h"

#include <algorithm>

#include "profiler/source/source.h"

namespace redline::profiler {

void ThreadFrames::open_all(PyFrameObject* innermost, int64_t now_ns) {
  std::vector<Object> frames;
  Object frame = keep(reinterpret_cast<PyObject*>(innermost));
  while (frame != nullptr) {
    auto* back = PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()));
    frames.push_back(std::move(frame));
    frame.reset(reinterpret_cast<PyObject*>(back));
  }
  for (auto outer = frames.rbegin(); outer != frames.rend(); ++outer) {
    auto* opened = reinterpret_cast<PyFrameObject*>(outer->get());
    push(opened, context_.names.of_frame(opened), now_ns++);  // so that each lies within its caller
  }
}

void ThreadFrames::close_all(int64_t now_ns) {
  while (!open_.empty()) pop(now_ns++);
}

void ThreadFrames::handle(PyFrameObject* frame, int event, PyObject* argument) {
  if (event == PyTrace_CALL) {
    const FrameName name = context_.names.of_frame(frame);
    push(frame, name, monotonic_ns());
  } else if (event == PyTrace_C_CALL) {
    const FrameName name = context_.names.of_builtin(argument);
    push(nullptr, name, monotonic_ns());
  } else if (event == PyTrace_RETURN) {
    leave(frame);
  } else if (event == PyTrace_C_RETURN || event == PyTrace_C_EXCEPTION) {
    leave(nullptr);
  }
}

void ThreadFrames::push(const void* frame, FrameName name, int64_t begin_ns) {
  open_.push_back({frame, begin_ns, ++context_.last_id, name});
  last_event_ns_ = begin_ns;
}

void ThreadFrames::pop(int64_t end_ns) {
  const OpenFrame ended = open_.back();
  open_.pop_back();
  const auto [name, args] = context_.names.intern(ended.name);
  Record record;
  record.begin_ns = ended.begin_ns;
  record.of = FrameFields{.end_ns = end_ns,
                          .id = ended.id,
                          .parent = open_.empty() ? 0 : open_.back().id,
                          .args = args,
                          .tid = tid_};
  record.name = name;
  record.kind = RecordKind::kFrame;
  submit(record);
}

/// Ends the frame. We may have missed the return of frames that are open within it; these end, too.
/// A frame that is not open was entered while the user's profile function had replaced ours.
void ThreadFrames::leave(const void* frame) {
  const int64_t now_ns = monotonic_ns();
  last_event_ns_ = now_ns;
  const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                  [frame](const OpenFrame& open) { return open.frame == frame; });
  if (found == open_.rend()) return;
  for (auto above = found - open_.rbegin(); above >= 0; --above) pop(now_ns);
}

}  // namespace redline::profiler
