// How a source of events, such as the LibTorch adapter, talks to the recorder in libredline.so.
//
// All types are plain, because an adapter may be built with another ABI of the standard library.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/c_api.h"
#include "profiler/log/record.h"
#include "profiler/recorder_options.h"

namespace redline::profiler {

/// The recorder calls only one source at a time. A source must not throw, and is never destroyed.
class Source {
 public:
  virtual void enable(const RecorderOptions& options) noexcept = 0;
  virtual void disable() noexcept = 0;

 protected:
  ~Source() = default;
};

/// From now on `source` is enabled from prepare to stop; at once if a window is prepared already.
REDLINE_API void add_source(Source* source) noexcept;

/// A source that sees ranges outside windows only after it is told to. The LibTorch adapter has
/// one.
class MarkerSource {
 public:
  /// From now on it calls see_marker() for all ranges and marks. Must not throw.
  virtual void watch_markers() noexcept = 0;

 protected:
  ~MarkerSource() = default;
};
REDLINE_API void add_marker_source(MarkerSource* source) noexcept;
/// To be called when a range begins or a mark is set on this thread, because a step may begin
/// there. Costs one load if no name is watched, which has_step_marker() tells.
REDLINE_API void see_marker(std::string_view name) noexcept;
[[nodiscard]] bool has_step_marker() noexcept;

/// Ids of operators and user annotations. CUPTI gives them back with the GPU work that is launched
/// between push and pop. They nest on their thread. Cheap if no GPU is recorded.
enum class ExternalIdKind : uint8_t { kOperator, kAnnotation };
REDLINE_API bool wants_external_ids() noexcept;
/// Each pushed id must be popped on the same thread, even if the window has ended meanwhile.
REDLINE_API void push_external_id(ExternalIdKind kind, uint64_t id, std::string_view name) noexcept;
REDLINE_API void pop_external_id(ExternalIdKind kind) noexcept;

/// These functions are cheap and may be called from every thread. They do nothing outside a window
/// and in a forked child.
REDLINE_API bool is_recording() noexcept;
REDLINE_API TextId intern_name(std::string_view name) noexcept;
/// `members` of a JSON object, without braces.
REDLINE_API TextId intern_args(std::string_view members) noexcept;
/// The same with a 64-bit hash `key`, for a text that depends only on what was hashed. known_args()
/// then finds the id without the text, if this thread has used it lately. Key 0 is never known.
REDLINE_API TextId intern_args_as(uint64_t key, std::string_view members) noexcept;
REDLINE_API TextId known_args(uint64_t key) noexcept;
REDLINE_API void submit(const Record& record) noexcept;
class OpenSlice;  // open_slices.h
struct BegunSlice {
  OpenSlice* slice = nullptr;  ///< null where too many are open
  TextId name;
};
/// A slice begins on this thread. If a trace is written before end_slice(), the trace shows the
/// slice as not finished. Interns the name.
[[nodiscard]] REDLINE_API BegunSlice begin_slice(int64_t begin_ns, RecordKind kind,
                                                 std::string_view name, TextId args,
                                                 uint64_t function_id) noexcept;
/// The same with a record that lacks its end.
[[nodiscard]] OpenSlice* begin_slice(const Record& record) noexcept;
/// The slice ends, on any thread. Submits `record`, which is complete now.
REDLINE_API void end_slice(OpenSlice* slice, const Record& record) noexcept;
/// The slice ends without a record.
REDLINE_API void drop_slice(OpenSlice* slice) noexcept;
/// "External id" of the operator that runs on this thread; 0: none.
[[nodiscard]] REDLINE_API uint64_t current_operator() noexcept;
/// For a thread that a source has started, from enable() to the end of disable(). It takes records
/// of earlier events even after the recording has stopped, and waits for the writer thread if
/// memory gets scarce.
REDLINE_API void deliver(const Record& record) noexcept;
/// The number of the present generation of names. When it changes, ids from before become invalid,
/// so whoever keeps ids must intern these names again.
REDLINE_API uint32_t name_generation() noexcept;

/// Adds a top-level key to the trace whose window is prepared or recorded now, such as the totals
/// of a source or what it lost. `json` must be a JSON value. The last value of a key counts, but
/// the members of several "redline" objects are put together. Does nothing outside a window. May be
/// called in enable() and disable().
REDLINE_API void add_entry(std::string_view key, std::string_view json) noexcept;

}  // namespace redline::profiler
