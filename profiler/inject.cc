// What libredline.so does by itself when it is loaded, by LD_PRELOAD or otherwise.
//
// The contract with `redline record`:
//   REDLINE_RECORD not set                  nothing
//   a Python process                        nothing: the start-up hook in Python is responsible
//   no libtorch_cpu.so at start-up          nothing: shells, launchers and everything else
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
#include "profiler/options.h"
#include "profiler/recorder.h"
#include "profiler/signals.h"

namespace redline::profiler {
namespace {

bool is_python() {
  const auto is_initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  return is_initialized != nullptr && is_initialized() != 0;
}

/// torchrun and `mpirun` wrappers tell the rank by environment variables.
void add_rank(Recorder& recorder) {
  const char* rank = std::getenv("RANK");
  const char* world_size = std::getenv("WORLD_SIZE");
  if (rank == nullptr || world_size == nullptr) return;
  static_cast<void>(recorder.add_metadata(
      "distributedInfo",
      std::string("{\"rank\": ") + rank + ", \"world_size\": " + world_size + "}"));
}

Result record_whole_run() {
  const auto request = record_request_from_environment();
  if (!request) return tl::unexpected(request.error());
  // LibTorch's static objects must be there before the recorder registers its exit handler.
  if (auto attached = attach_torch(); !attached) return attached;
  Recorder& recorder = Recorder::instance();
  add_rank(recorder);
  if (auto prepared = recorder.prepare(request->options); !prepared) return prepared;
  if (auto watched = finish_on_signals(); !watched) return watched;
  return recorder.start();
}

__attribute__((constructor)) void on_load() {
  const char* request = std::getenv("REDLINE_RECORD");
  if (request == nullptr || *request == '\0' || is_python() || !has_torch()) return;
  try {
    if (auto started = record_whole_run(); !started) {
      std::fprintf(stderr, "redline: recording is off: %s\n", started.error().c_str());
    }
  } catch (...) {
    // Out of memory before main(): the program will say so itself.
  }
}

}  // namespace
}  // namespace redline::profiler
