// How a source of events, such as the LibTorch adapter, talks to the recorder in libredline.so.
//
// Plain types only: an adapter may be built with another ABI of the standard library.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/c_api.h"
#include "profiler/log/record.h"
#include "profiler/recorder_options.h"

namespace redline::profiler {

/// The recorder calls one of its sources at a time. They must not throw, and must live for ever.
class Source {
 public:
  virtual void enable(const RecorderOptions& options) noexcept = 0;
  virtual void disable() noexcept = 0;

 protected:
  ~Source() = default;
};

/// From now on `source` is enabled from prepare to stop; at once, where a window is prepared.
REDLINE_API void add_source(Source* source) noexcept;

/// A source that sees ranges outside windows only where it is told to; the LibTorch adapter's.
class MarkerSource {
 public:
  /// From now on it calls see_marker() for all ranges and marks. Must not throw.
  virtual void watch_markers() noexcept = 0;

 protected:
  ~MarkerSource() = default;
};
REDLINE_API void add_marker_source(MarkerSource* source) noexcept;
/// A range begins or a mark is set on this thread: it may be where a step begins. Costs one load
/// where no name is watched, as has_step_marker() tells.
REDLINE_API void see_marker(std::string_view name) noexcept;
[[nodiscard]] bool has_step_marker() noexcept;

/// Ids of operators and user annotations, which CUPTI gives back with the GPU work that is launched
/// in between; they nest on their thread. Cheap where no GPU is recorded.
enum class ExternalIdKind : uint8_t { kOperator, kAnnotation };
REDLINE_API bool wants_external_ids() noexcept;
/// What was pushed is popped on the same thread, whatever has ended meanwhile.
REDLINE_API void push_external_id(ExternalIdKind kind, uint64_t id, std::string_view name) noexcept;
REDLINE_API void pop_external_id(ExternalIdKind kind) noexcept;

/// Cheap and callable from every thread; without effect outside a window and in a forked child.
REDLINE_API bool is_recording() noexcept;
REDLINE_API TextId intern_name(std::string_view name) noexcept;
/// `members` of a JSON object, without braces.
REDLINE_API TextId intern_args(std::string_view members) noexcept;
/// The same for a text that is a function of what `key`, a 64-bit hash, stands for: known_args()
/// finds it without the text, where this thread has used it lately. Key 0 is never known.
REDLINE_API TextId intern_args_as(uint64_t key, std::string_view members) noexcept;
REDLINE_API TextId known_args(uint64_t key) noexcept;
REDLINE_API void submit(const Record& record) noexcept;
class OpenSlice;  // open_slices.h
struct BegunSlice {
  OpenSlice* slice = nullptr;  ///< null where too many are open
  TextId name;
};
/// A slice begins on this thread: where a trace is written before end_slice(), it is there, as not
/// finished. Its name is interned.
[[nodiscard]] REDLINE_API BegunSlice begin_slice(int64_t begin_ns, RecordKind kind,
                                                 std::string_view name, TextId args,
                                                 uint64_t function_id) noexcept;
/// The same with a record that lacks its end.
[[nodiscard]] OpenSlice* begin_slice(const Record& record) noexcept;
/// It ends, on whichever thread: submits `record`, which is whole now.
REDLINE_API void end_slice(OpenSlice* slice, const Record& record) noexcept;
/// It ends without a record.
REDLINE_API void drop_slice(OpenSlice* slice) noexcept;
/// "External id" of the operator that runs on this thread; 0: none.
[[nodiscard]] REDLINE_API uint64_t current_operator() noexcept;
/// For a source's own thread, from enable() to the end of disable(): what was recorded before, also
/// where nothing is recorded any more. Waits for the writer thread where memory gets scarce.
REDLINE_API void deliver(const Record& record) noexcept;
/// Who keeps ids of names interns these again when this has changed: older ones are forgotten.
REDLINE_API uint32_t name_generation() noexcept;

/// A top-level key of the trace whose window is prepared or recorded now, such as a source's totals
/// or what it lost; `json` must be a JSON value. The last value of a key counts; only the members
/// of several "redline" objects join. Without effect outside a window. Allowed in enable() and
/// disable().
REDLINE_API void add_entry(std::string_view key, std::string_view json) noexcept;

}  // namespace redline::profiler
