// The functions that sources call (source.h). They pass everything on to the recorder of this
// process, and let no exception through: the caller may be a thread of CUPTI, NCCL or LibTorch.
#include "profiler/source/source.h"

#include <string>

#include "profiler/session/ranges.h"
#include "profiler/session/recorder.h"
#include "profiler/source/gpu_work.h"

namespace redline::profiler {

void add_source(Source* source) noexcept {
  try {
    Recorder::instance().add_source(source);
  } catch (...) {
    // No memory for the list: nothing of this source is recorded.
  }
}

void add_marker_source(MarkerSource* source) noexcept {
  try {
    step_marker().add_source(source);
  } catch (...) {
    // As in add_source().
  }
}

void see_marker(std::string_view name) noexcept { step_marker().see(name); }

bool has_step_marker() noexcept { return step_marker().is_watched(); }

[[gnu::hot]] bool is_recording() noexcept { return Recorder::instance().recording(); }

[[gnu::hot]] TextId intern_name(std::string_view name) noexcept {
  try {
    return Recorder::instance().intern(name, TextForm::kName);
  } catch (...) {
    return {};
  }
}

TextId intern_args(std::string_view members) noexcept {
  try {
    return Recorder::instance().intern(members, TextForm::kJson);
  } catch (...) {
    return {};
  }
}

TextId intern_args_as(uint64_t key, std::string_view members) noexcept {
  try {
    return Recorder::instance().intern_as(key, members);
  } catch (...) {
    return {};
  }
}

[[gnu::hot]] TextId known_args(uint64_t key) noexcept {
  try {
    return Recorder::instance().known(key);
  } catch (...) {
    return {};
  }
}

void add_entry(std::string_view key, std::string_view json) noexcept {
  try {
    Recorder::instance().add_source_entry(std::string(key), std::string(json));
  } catch (...) {
    // No memory: the trace lacks this entry.
  }
}

void give_up_gpu(const char* tool) noexcept { Recorder::instance().give_up_gpu(tool); }

uint32_t name_generation() noexcept { return Recorder::instance().name_generation(); }

[[gnu::hot]] void submit(const Record& record) noexcept {
  try {
    Recorder::instance().submit(record);
  } catch (...) {
    // No memory for the log of a thread that records for the first time.
  }
}

[[gnu::hot]] BegunSlice begin_slice(int64_t begin_ns, RecordKind kind, std::string_view name,
                                    TextId args, uint64_t function_id) noexcept {
  try {
    return Recorder::instance().begin_slice(
        {.begin_ns = begin_ns, .number = function_id, .args = args, .kind = kind}, name);
  } catch (...) {
    return {};
  }
}

OpenSlice* begin_slice(const Record& record) noexcept {
  try {
    return Recorder::instance().begin_slice(record);
  } catch (...) {
    return nullptr;
  }
}

[[gnu::hot]] void end_slice(OpenSlice* slice, const Record& record) noexcept {
  try {
    Recorder::instance().end_slice(slice, record);
  } catch (...) {
    // As in submit().
  }
}

uint64_t current_operator() noexcept {
  try {
    return Recorder::instance().current_operator();
  } catch (...) {
    return 0;
  }
}

[[gnu::hot]] void drop_slice(OpenSlice* slice) noexcept { Recorder::instance().drop_slice(slice); }

void deliver(const Record& record) noexcept {
  try {
    Recorder::instance().deliver(record);
  } catch (...) {
    // As in submit().
  }
}

}  // namespace redline::profiler
