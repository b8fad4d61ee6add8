// What libredline.so does by itself when it is loaded, by LD_PRELOAD or otherwise.
//
// The contract with `redline record`:
//   REDLINE_RECORD not set                  nothing
//   a Python process                        nothing: the start-up hook in Python is responsible
//   no libtorch_cpu.so at start-up          nothing: shells, launchers and everything else
//   a rank that --ranks leaves alone        nothing
//   a step marker is asked for              recorded by the command line's schedule
//   a program that links LibTorch           recorded from here to exit() as one window; then
//                                           DIR/{host}_{pid}.{time ns}.pt.trace.json.gz is written
// A redline::Profiler in the program takes over (redline_take_request) and follows the command
// line's schedule. SIGTERM completes the window, too; a program that is killed leaves the .partial
// file. Nothing is ever printed but one line on stderr where recording is impossible.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "profiler/adapter.h"
#include "profiler/c_api.h"
#include "profiler/control.h"
#include "profiler/job_rank.h"
#include "profiler/options.h"
#include "profiler/recorder.h"
#include "profiler/redline.h"
#include "profiler/signals.h"
#include "profiler/step_marker.h"

namespace redline::profiler {
namespace {

bool is_python() {
  const auto is_initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  return is_initialized != nullptr && is_initialized() != 0;
}

void add_rank(Recorder& recorder) {
  const auto own = job_rank();
  if (!own) return;
  static_cast<void>(recorder.add_metadata(
      "distributedInfo", "{\"rank\": " + std::to_string(own->rank) +
                             ", \"world_size\": " + std::to_string(own->world_size) + "}"));
}

Result record_whole_run(const Options& options) {
  Recorder& recorder = Recorder::instance();
  if (auto prepared = recorder.prepare(options); !prepared) return prepared;
  return recorder.start();
}

/// By the command line's schedule, as if the program had a redline::Profiler.
void record_by_marker(const std::string& name) {
  static auto* const profiler = new Profiler;  // exit() completes its window
  step_marker().watch(name, [] { profiler->step(); });
}

Result record_process() {
  const auto request = record_request_from_environment();
  if (!request) return tl::unexpected(request.error());
  if (is_excluded(*request)) return {};
  // LibTorch's static objects must be there before the recorder registers its exit handler.
  if (auto attached = attach_torch(); !attached) return attached;
  add_rank(Recorder::instance());
  if (auto heard = finish_on_signals(); !heard) return heard;
  if (!request->step_marker.empty()) {
    record_by_marker(request->step_marker);
    return {};
  }
  static_cast<void>(listen_for_captures({.options = request->options}));
  return record_whole_run(request->options);
}

__attribute__((constructor)) void on_load() {
  const char* request = std::getenv("REDLINE_RECORD");
  if (request == nullptr || *request == '\0' || is_python() || !has_torch()) return;
  try {
    if (auto started = record_process(); !started) {
      std::fprintf(stderr, "redline: recording is off: %s\n", started.error().c_str());
    }
  } catch (...) {
    // Out of memory before main(): the program will say so itself.
  }
}

}  // namespace
}  // namespace redline::profiler
