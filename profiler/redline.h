// The C++ API of the recorder.
//
//   redline::Profiler profiler({.schedule = {.wait = 1, .warmup = 1, .active = 3, .repeat = 1},
//                               .on_trace_ready = redline::write_chrome_trace("traces")});
//   for (auto& batch : loader) {
//     { redline::range forward("forward"); … }
//     profiler.step();
//   }
//
// All of it is inline over the C ABI (c_api.h), so it works with every compiler and standard
// library that can link libredline.so. Nothing here throws or ends the program: if recording or a
// handler fails, one line on stderr says why, and the program goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "profiler/c_api.h"
#include "profiler/recorder_options.h"
#include "profiler/schedule.h"

namespace redline {

class Profiler;

/// Called when a window has ended, with the profiler to export it from.
using TraceHandler = std::function<void(Profiler&)>;

struct ProfilerOptions {
  /// All zero, as by default, means no schedule: one window from construction to destruction.
  Schedule schedule = {.active = 0};
  TraceHandler on_trace_ready = nullptr;
  // RecorderOptions explains these. A flight recorder writes its traces into the directory of
  // write_chrome_trace(), or into the current one if on_trace_ready is something else.
  bool record_shapes = kRecorderDefaults.record_shapes;
  bool profile_memory = kRecorderDefaults.profile_memory;
  bool with_stack = kRecorderDefaults.with_stack;
  bool with_flops = kRecorderDefaults.with_flops;
  bool with_modules = kRecorderDefaults.with_modules;
  bool record_cpu = kRecorderDefaults.record_cpu;
  bool record_gpu = kRecorderDefaults.record_gpu;
  int32_t host_samples_hz = kRecorderDefaults.host_samples_hz;
  uint64_t memory_budget_bytes = kRecorderDefaults.memory_budget_bytes;
  uint64_t max_bytes = kRecorderDefaults.max_bytes;
  uint64_t max_write_rate = kRecorderDefaults.max_write_rate;
  double ring_seconds = kRecorderDefaults.ring_seconds;
  double slow_step = kRecorderDefaults.slow_step;
};

/// A user scope on this thread. It becomes a user_annotation slice in the trace.
class range {
 public:
  explicit range(const char* name) { redline_range_push(name); }
  explicit range(const std::string& name) : range(name.c_str()) {}
  ~range() { redline_range_pop(); }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

/// Records the process by a schedule, as torch.profiler.profile does. Only one may exist at a time:
/// a second one says so on stderr and does nothing.
/// Under `redline record` the command line's schedule, options and directory replace the program's.
/// In a LibTorch program under `--step-marker` it does nothing.
class Profiler {
 public:
  explicit Profiler(ProfilerOptions options = {});
  /// Ends an open window and calls the handler.
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Marks the end of a training step; with a schedule, each is a "ProfilerStep#n" slice.
  void step();
  [[nodiscard]] int64_t step_number() const { return step_; }

  /// For the handler: writes the window that has just ended, compressed if `path` ends in .gz.
  /// False if that fails, which stderr says.
  bool export_chrome_trace(const std::string& path) {
    return said(redline_export(path.c_str()), "trace not written");
  }
  /// Writes the window into `directory` under a unique name; makes the directory if it is missing.
  bool export_to_directory(const std::string& directory) {
    return said(redline_export_to_directory(directory.c_str(), nullptr, 0), "trace not written");
  }
  /// With ring_seconds: writes a trace of the last seconds. The trace holds the reason.
  bool write_ring(const std::string& reason) {
    return said(redline_write_ring(reason.c_str(), nullptr, 0), "trace not written");
  }
  /// Adds a top-level key to this and all later traces; `json` is any JSON value.
  bool add_metadata_json(const std::string& key, const std::string& json) {
    return said(redline_add_metadata_json(key.c_str(), json.c_str()), "metadata not kept");
  }

 private:
  using Action = Schedule::Action;

  [[nodiscard]] Action action_of(int64_t step) const {
    return has_schedule() && !has_ring() ? options_.schedule.action(step) : Action::kRecord;
  }
  [[nodiscard]] bool has_schedule() const { return options_.schedule.active > 0; }
  [[nodiscard]] bool has_ring() const { return options_.ring_seconds > 0; }
  [[nodiscard]] bool has_steps() const { return has_schedule() || has_ring(); }
  static bool is_recorded(Action action) {
    return action == Action::kRecord || action == Action::kRecordAndSave;
  }
  static bool said(int status, const char* what);
  bool succeeded(int status);
  [[nodiscard]] std::string recorder_options() const;
  void obey_command_line();
  [[nodiscard]] const char* problem() const;
  void call_handler();
  void finish_window();
  void tell_if_nothing_was_recorded() const;
  void change(Action before, Action after);
  void begin_step();

  ProfilerOptions options_;
  /// Set while one is alive: a process has one recorder, and each step() would end its step.
  static inline std::atomic<bool> is_taken_ = false;
  const bool is_first_ = !is_taken_.exchange(true);
  std::string requested_options_;  ///< the command line's, as JSON, in place of options_
  std::string capture_options_;    ///< the command line's, which wants captures only
  int64_t step_ = 0;
  Action action_ = Action::kNone;
  bool is_off_ = false;  ///< recording failed, which stderr has said, or --ranks leaves us out
};

/// The handler that write_chrome_trace() makes.
struct ChromeTraceWriter {
  std::string directory;
  void operator()(Profiler& profiler) const { profiler.export_to_directory(directory); }
};

/// A handler that writes each window to `directory`/{host}_{pid}.{time}.pt.trace.json.gz. If exit()
/// cuts a window short, its trace is completed there, too.
[[nodiscard]] inline TraceHandler write_chrome_trace(std::string directory) {
  return ChromeTraceWriter{std::move(directory)};
}

/// True under `redline record` and `redline run --every`.
[[nodiscard]] inline bool recording_requested() {
  const char* request = ::secure_getenv("REDLINE_RECORD");
  return request != nullptr && *request != '\0';
}

inline bool Profiler::said(int status, const char* what) {
  if (status != 0) std::fprintf(stderr, "redline: %s: %s\n", what, redline_last_error());
  return status == 0;
}

/// Checks the status of a call of the recorder. After the first failure this profiler does nothing.
inline bool Profiler::succeeded(int status) {
  is_off_ = !said(status, "recording is off");
  return !is_off_;
}

inline Profiler::Profiler(ProfilerOptions options) : options_(std::move(options)) {
  if (!is_first_) {
    is_off_ = true;
    std::fputs("redline: recording is off: another redline::Profiler is alive\n", stderr);
    return;
  }
  redline_attach_torch();  // may fail: without LibTorch, ranges and GPU work are recorded
  obey_command_line();
  if (const char* why = problem(); why != nullptr) {
    is_off_ = true;
    std::fprintf(stderr, "redline: recording is off: %s\n", why);
  }
  action_ = action_of(0);
  change(Action::kNone, action_);
  if (has_steps() && !is_off_) {
    // If this fails, as without a folder for sockets, only `redline trigger` does not work.
    const std::string asked = capture_options_.empty() ? recorder_options() : capture_options_;
    redline_listen(asked.c_str(), has_schedule() ? options_.schedule.active : 3);
  }
  begin_step();
}

inline Profiler::~Profiler() {
  if (!is_first_) return;
  is_taken_ = false;
  if (has_steps()) redline_end_steps();
  if (is_recorded(action_)) {
    finish_window();
  } else if (action_ == Action::kWarmup && !is_off_) {
    redline_discard();
  }
  tell_if_nothing_was_recorded();
}

/// Why nothing can be recorded as the options say; null if it can.
inline const char* Profiler::problem() const {
  const bool asks_for_steps = !(options_.schedule == Schedule{.active = 0});
  if (asks_for_steps && !options_.schedule.is_valid()) {
    return "schedule: active must be > 0, and each number from 0 to 10^15";
  }
  const auto* writer = options_.on_trace_ready.target<ChromeTraceWriter>();
  if (writer != nullptr && writer->directory.empty()) return "write_chrome_trace: no directory";
  return nullptr;
}

inline void Profiler::tell_if_nothing_was_recorded() const {
  const Schedule& schedule = options_.schedule;
  const int64_t first = schedule.skip_first + schedule.wait + schedule.warmup;
  const bool is_asked = !requested_options_.empty() && has_schedule() && !has_ring();
  if (!is_asked || is_off_ || step_ >= first || schedule.skip_first == Schedule::kMost) return;
  const std::string text = "nothing was recorded: the command made " + std::to_string(step_) +
                           (step_ == 1 ? " step" : " steps") +
                           ", the schedule leaves out the first " + std::to_string(first) +
                           ". Give a shorter --schedule";
  if (redline_note("nothing", text.c_str()) != 0) {
    std::fprintf(stderr, "redline: %s\n", text.c_str());
  }
}

inline void Profiler::obey_command_line() {
  redline_request request = {};
  request.struct_size = sizeof(request);
  if (redline_take_request(&request) != 0) return;
  is_off_ = request.is_excluded != 0;
  if (!is_off_) redline_finish_on_termination();  // if it fails, only a killed program loses more
  const bool records_itself = options_.on_trace_ready || options_.ring_seconds > 0;
  if (request.skip_first == Schedule::kMost && records_itself) {  // under `redline run --every`
    capture_options_ = ::secure_getenv("REDLINE_RECORD");
    return;
  }
  // The recorder makes one itself for --step-marker (inject.cc), in a program that may have none.
  const bool is_of_the_program = options_.schedule.skip_first != Schedule::kMost;
  options_.schedule = {request.skip_first, request.wait, request.warmup, request.active,
                       request.repeat};
  options_.ring_seconds = request.ring_seconds;
  requested_options_ = ::secure_getenv("REDLINE_RECORD");
  options_.on_trace_ready = write_chrome_trace(request.directory);
  if (!is_of_the_program) return;
  std::fputs("redline: the command line's schedule and directory replace the program's\n", stderr);
}

inline void Profiler::step() {
  if (!is_first_) {
    ++step_;
    return;
  }
  redline_log_program_step(-1);
  if (has_steps()) redline_end_step();
  const Action before = std::exchange(action_, action_of(++step_));
  change(before, action_);
  begin_step();
}

inline void Profiler::begin_step() {
  if (has_steps()) redline_begin_step(step_);
}

inline std::string Profiler::recorder_options() const {
  if (!requested_options_.empty()) return requested_options_;
  // Fractions are written as thousandths ("1500e-3"), because some locales would write "1,5".
  struct Text {
    std::string operator()(bool is_on) const { return is_on ? "true" : "false"; }
    std::string operator()(int32_t number) const { return std::to_string(number); }
    std::string operator()(uint64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      return std::to_string(static_cast<int64_t>(number * 1000)) + "e-3";
    }
  };
  std::string json;
  for_each_option<ProfilerOptions>([&](const OptionRow& row, auto member) {
    json +=
        (json.empty() ? "{\"" : ", \"") + std::string(row.key) + "\": " + Text()(options_.*member);
  });
  if (const auto* writer = options_.on_trace_ready.target<ChromeTraceWriter>()) {
    json += ", \"directory\": \"";
    for (const char c : writer->directory) {
      if (c == '"' || c == '\\') json += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) {
        json += c;
      } else {
        json += {'\\', 'u', '0', '0', static_cast<char>('0' + c / 16), "0123456789abcdef"[c % 16]};
      }
    }
    json += '"';
  }
  return json + "}";
}

inline void Profiler::finish_window() {
  if (is_off_) return;
  if (has_ring()) {
    redline_discard();  // the ring was written whenever something happened; its rest is not needed
    return;
  }
  if (succeeded(redline_stop()) && options_.on_trace_ready) call_handler();
}

inline void Profiler::call_handler() {
#ifdef __cpp_exceptions
  try {
    options_.on_trace_ready(*this);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "redline: on_trace_ready: exception: %s\n", exception.what());
  } catch (...) {
    std::fputs("redline: on_trace_ready: exception of an unknown type\n", stderr);
  }
#else
  options_.on_trace_ready(*this);
#endif
}

inline void Profiler::change(Action before, Action after) {
  if (before == Action::kRecordAndSave) {
    finish_window();
    before = Action::kNone;
  }
  if (is_off_) return;
  if (before == Action::kNone && after != Action::kNone) {
    succeeded(redline_prepare(recorder_options().c_str()));
  }
  if (!is_off_ && is_recorded(after) && !is_recorded(before)) {
    succeeded(redline_start());
  }
}

}  // namespace redline
