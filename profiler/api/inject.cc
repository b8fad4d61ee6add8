// What libredline.so does by itself when it is loaded, by LD_PRELOAD or otherwise, and when CUDA's
// driver starts in a process whose CUDA_INJECTION64_PATH names it.
//
// When it is loaded:
//   REDLINE_HANG_TABLES set                 a program that links LibTorch tells of its collectives
//   REDLINE_RECORD not set                  nothing else
//   a Python process                        nothing: the start-up hook in Python is responsible
//   no libtorch_cpu.so at start-up          nothing: shells, launchers and everything else
//   a rank that --ranks leaves out          nothing
//   a step marker is asked for              recorded by the command line's schedule
//   a program that links LibTorch           recorded from here to exit() as one window; then
//                                           DIR/{host}_{pid}.{time ns}.pt.trace.json.gz is written
// When CUDA's driver starts, it calls InitializeInjection(), and a program without LibTorch is
// recorded from here to exit(), also in Python (JAX, CuPy). If REDLINE_RECORD is not set, any
// process, also of Python with torch, is recorded as with `redline record -o traces`.
//
// Without a step marker, a redline::Profiler in the program, or the start-up hook of Python if
// torch is imported later, takes over (redline_take_request) and follows the command line's
// schedule. SIGTERM and Ctrl-C complete the window, too. A program that is killed leaves the
// .partial file. One line on stderr says if recording is impossible; nothing else is printed.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/user_switch.h"
#include "profiler/c_api.h"
#include "profiler/log/per_thread.h"
#include "profiler/redline.h"
#include "profiler/request/options.h"
#include "profiler/session/control.h"
#include "profiler/session/ranges.h"
#include "profiler/session/recorder.h"
#include "profiler/source/gpu_work.h"

namespace redline::profiler {
namespace {

bool is_python() {
  const auto is_initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  return is_initialized != nullptr && is_initialized() != 0;
}

Result record_whole_run(Options options) {
  // Launchers and other helpers of a job may start CUDA, and then do nothing with it. Their traces
  // would be taken for those of ranks.
  options.only_with_work = true;
  Recorder& recorder = Recorder::instance();
  if (auto prepared = recorder.prepare(options); !prepared) return prepared;
  return recorder.start();
}

/// True on one thread, the first that asks, until it ends. The others of a process with a thread
/// for each GPU mark the same steps.
bool is_marking_thread() {
  static std::atomic<const void*> marking = nullptr;
  struct Place {
    ~Place() {
      const void* own = this;
      marking.compare_exchange_strong(own, nullptr);
    }
  };
  const Place* const place = PerThread<Place>::get();
  if (place == nullptr) return false;  // no memory
  const void* nobody = nullptr;
  return marking == place || marking.compare_exchange_strong(nobody, place);
}

/// Records by the command line's schedule, as if the program had a redline::Profiler.
void record_by_marker(const std::string& name) {
  // exit() completes its window. The schedule tells that it is not one of the program.
  static auto* const profiler = new Profiler({.schedule = {.skip_first = Schedule::kMost}});
  step_marker().watch(name, [] {
    if (is_marking_thread()) profiler->step();
  });
}

/// Recording has begun, when the library was loaded or when CUDA started.
bool g_is_begun = false;

Result record_process() {
  RecordRequest unasked;
  unasked.options.directory = std::filesystem::absolute("traces");
  const auto request = recording_requested() ? record_request_from_environment()
                                             : tl::expected<RecordRequest, std::string>(unasked);
  if (!request) return tl::unexpected(request.error());
  note_ranks(*request);
  if (is_excluded(*request)) return {};
  g_is_begun = true;
  // LibTorch's static objects must be made before the recorder registers its exit handler, so that
  // they are destroyed after that has run.
  if (has_torch()) {
    if (auto attached = attach_torch(); !attached) return attached;
  }
  if (auto heard = finish_on_signals(); !heard) return heard;
  if (!request->step_marker.empty()) {
    record_by_marker(request->step_marker);
    return {};
  }
  static_cast<void>(listen_for_captures({.options = request->options}));
  if (request->only_on_request) return {};
  return record_whole_run(request->options);
}

void try_to_record_process() noexcept {
  try {
    if (auto started = record_process(); !started) {
      std::fprintf(stderr, "redline: recording is off: %s\n", started.error().c_str());
    }
  } catch (...) {
    // No memory before main(): the program will fail by itself.
  }
}

__attribute__((constructor)) void on_load() {
  if (is_python() || !has_torch()) return;
  if (recording_requested()) try_to_record_process();
  if (!user_variable("REDLINE_HANG_TABLES").empty()) {
    static_cast<void>(attach_torch());  // without it, the job goes on
  }
}

/// Runs within the first cuInit() of the process.
void on_cuda() noexcept {
  see_cuda_start();
  if (recording_requested() && is_python() && has_torch()) return;
  if (!g_is_begun) try_to_record_process();
  // Registered now, so that it runs before CUDA's own exit handlers, while CUPTI can still hand
  // over its records.
  if (g_is_begun) std::atexit([] { Recorder::instance().flush_gpu(); });
}

}  // namespace
}  // namespace redline::profiler

/// CUDA's driver calls this. Gives 1, so that the library stays loaded.
extern "C" REDLINE_API int InitializeInjection() {
  redline::profiler::on_cuda();
  return 1;
}
