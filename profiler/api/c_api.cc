#include "profiler/c_api.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "machine/thread_wait.h"
#include "profiler/log/per_thread.h"
#include "profiler/nvtx/nvtx_module.h"
#include "profiler/request/record_request.h"
#include "profiler/request/recording_summary.h"
#include "profiler/schedule.h"
#include "profiler/session/abort_watch.h"
#include "profiler/session/control.h"
#include "profiler/session/ranges.h"
#include "profiler/session/recorder.h"
#include "profiler/session/step_log.h"
#include "profiler/source/interpreter.h"

namespace redline::profiler {
namespace {

struct LastError {
  char text[1024] = "";
};

/// As much of the text as has room.
void copy_text(std::string_view text, char* out, uint64_t out_size) {
  if (out == nullptr || out_size == 0) return;
  const size_t size = std::min<size_t>(text.size(), out_size - 1);
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
}

int failure(std::string_view why) {
  LastError* const error = PerThread<LastError>::get();
  if (error == nullptr) return -1;
  copy_text(why, error->text, sizeof(error->text));
  return -1;
}

/// Lets no exception cross the C boundary. Only a lack of memory can throw one.
template <typename Body>
int guarded_with(Body body) noexcept {
  try {
    const auto result = body();
    return result ? 0 : failure(result.error());
  } catch (const std::exception& exception) {
    return failure(exception.what());
  } catch (...) {
    return failure("unknown exception");
  }
}

template <typename Body>
int guarded(Body body) noexcept {
  return guarded_with([&] { return body(Recorder::instance()); });
}

/// The log needs no recorder.
template <typename Body>
int guarded_log(Body body) noexcept {
  return guarded_with([&] { return body(StepLog::instance()); });
}

auto request_of(const char* options_json) {
  return parse_record_request(options_json ? options_json : "{}");
}

/// As much as the caller's version of the structure has.
void give(redline_request full, redline_request* request) {
  full.struct_size = std::min<uint64_t>(request->struct_size, sizeof(full));
  std::memcpy(request, &full, full.struct_size);
}

/// In a Python process the start-up hook takes care of these itself.
bool is_recorded_by_marker(const RecordRequest& wanted) {
  return !wanted.step_marker.empty() && step_marker().is_watched() && !has_interpreter();
}

bool is_log_part(int part) { return part >= 0 && part < static_cast<int>(trace::kLogParts); }

[[gnu::hot]] int end_logged_step(int64_t samples, int64_t tokens, StepLog::Kind kind) {
  StepLog::Outcome outcome = StepLog::Outcome::kDone;
  guarded_log([&](StepLog& log) -> Result {
    outcome = log.end_step(samples, tokens, kind);
    return {};
  });
  return static_cast<int>(outcome);
}

}  // namespace

}  // namespace redline::profiler

using redline::profiler::copy_text;
using redline::profiler::end_logged_step;
using redline::profiler::failure;
using redline::profiler::give;
using redline::profiler::guarded;
using redline::profiler::guarded_log;
using redline::profiler::has_interpreter;
using redline::profiler::is_log_part;
using redline::profiler::Recorder;
using redline::profiler::request_of;
using redline::profiler::Result;
using redline::profiler::StepLog;
using redline::trace::LogMarkKind;
using redline::trace::LogPart;

const char* redline_version(void) { return REDLINE_VERSION; }

const char* redline_last_error(void) {
  const auto* error = redline::profiler::PerThread<redline::profiler::LastError>::get();
  return error != nullptr ? error->text : "out of memory";
}

int redline_prepare(const char* options_json) {
  return guarded([&](Recorder& recorder) {
    const auto prepare = [&](const auto& wanted) { return recorder.prepare(wanted.options); };
    return request_of(options_json).and_then(prepare);
  });
}

int redline_check_options(const char* options_json) {
  return guarded([&](Recorder&) { return request_of(options_json); });
}

int redline_start(void) {
  return guarded([](Recorder& recorder) { return recorder.start(); });
}

int redline_stop(void) {
  return guarded([](Recorder& recorder) { return recorder.stop(); });
}

int redline_complete(void) {
  return guarded([](Recorder& recorder) { return recorder.complete(); });
}

int redline_set_paused(int paused) {
  return guarded([&](Recorder& recorder) -> Result {
    recorder.set_paused(paused != 0);
    return {};
  });
}

int redline_discard(void) {
  return guarded([](Recorder& recorder) { return recorder.discard(); });
}

int redline_finish_on_termination(void) {
  return guarded([](Recorder&) { return redline::profiler::finish_on_signals(); });
}

int redline_export(const char* path) {
  if (path == nullptr || *path == '\0') return failure("export: no path");
  return guarded([&](Recorder& recorder) { return recorder.save(path); });
}

int redline_export_to_directory(const char* directory, char* path_out, uint64_t path_out_size) {
  if (directory == nullptr) return failure("export: no directory");
  return guarded([&](Recorder& recorder) {
    const auto copy = [&](const auto& path) { copy_text(path, path_out, path_out_size); };
    return recorder.save_in(directory).map(copy);
  });
}

int redline_add_metadata_json(const char* key, const char* json) {
  if (key == nullptr || json == nullptr) return failure("metadata: no key or no value");
  return guarded([&](Recorder& recorder) { return recorder.add_metadata(key, json); });
}

int redline_forget_metadata(void) {
  return guarded([](Recorder& recorder) { return recorder.forget_metadata(); });
}

int redline_write_ring(const char* reason, char* path_out, uint64_t path_out_size) {
  return guarded([&](Recorder& recorder) {
    const auto copy = [&](const auto& path) { copy_text(path, path_out, path_out_size); };
    return recorder.write_ring(reason != nullptr ? reason : "").map(copy);
  });
}

void redline_begin_step(int64_t number) {
  guarded([&](Recorder& recorder) -> Result {
    recorder.steps().begin(number, false);
    return {};
  });
}

void redline_begin_drawn_step(int64_t number) {
  guarded([&](Recorder& recorder) -> Result {
    recorder.steps().begin(number, true);
    return {};
  });
}

void redline_end_step(void) {
  guarded([](Recorder& recorder) -> Result {
    recorder.steps().end();
    return {};
  });
}

void redline_end_steps(void) {
  guarded([](Recorder& recorder) -> Result {
    recorder.steps().end();
    recorder.capture().steps_ended();
    return {};
  });
}

int redline_next_step(int64_t number) {
  int result = 0;
  guarded([&](Recorder& recorder) -> Result {
    if (recorder.capture().is_busy()) return {};
    recorder.steps().end();
    recorder.steps().begin(number, false);
    result = recorder.capture().is_busy() ? 2 : 1;
    return {};
  });
  return result;
}

int redline_watch_marker(const char* name, void (*step_begins)(void)) {
  return guarded([&](Recorder&) -> Result {
    redline::profiler::step_marker().watch(name != nullptr ? name : "", step_begins);
    return {};
  });
}

int redline_listen(const char* options_json, int64_t steps) {
  return guarded([&](Recorder& recorder) -> Result {
    if (auto alive = recorder.check_alive(); !alive) return alive;
    const auto wanted = request_of(options_json);
    if (!wanted) return tl::unexpected(wanted.error());
    if (steps < 1) return tl::unexpected(std::string("listen: steps must be at least 1"));
    return redline::profiler::listen_for_captures({wanted->options, steps});
  });
}

int redline_capture_of_stacks(void) {
  return static_cast<int>(Recorder::instance().capture().stacks());
}

void redline_range_push(const char* name) {
  if (name == nullptr) name = "";
  redline::profiler::push_range(name);
  if (const auto& tool = redline::profiler::other_nvtx_tool(); tool.push != nullptr) {
    tool.push(name);
  }
}

void redline_range_pop(void) {
  redline::profiler::pop_range();
  if (const auto& tool = redline::profiler::other_nvtx_tool(); tool.pop != nullptr) tool.pop();
}

int redline_get_stats(redline_stats* stats) {
  if (stats == nullptr) return failure("stats: no structure");
  return guarded([&](Recorder& recorder) -> Result {
    const auto counts = recorder.counts();
    redline_stats full = {sizeof(redline_stats), counts.recorded, counts.dropped, counts.bytes,
                          counts.threads};
    full.struct_size = std::min<uint64_t>(stats->struct_size, sizeof(full));
    std::memcpy(stats, &full, full.struct_size);
    return {};
  });
}

int redline_attach_torch(void) {
  return guarded([](Recorder&) { return redline::profiler::attach_torch(); });
}

[[gnu::hot]] void redline_log_enter(int part) {
  if (is_log_part(part)) StepLog::instance().enter(static_cast<LogPart>(part));
}

[[gnu::hot]] void redline_log_leave(int part) {
  if (is_log_part(part)) StepLog::instance().leave(static_cast<LogPart>(part));
}

[[gnu::hot]] void redline_log_leave_as(int entered, int part) {
  if (!is_log_part(entered) || !is_log_part(part)) return;
  StepLog::instance().leave_as(static_cast<LogPart>(entered), static_cast<LogPart>(part));
}

void redline_log_know(int part) {
  if (is_log_part(part)) StepLog::instance().know(static_cast<LogPart>(part));
}

void redline_log_evaluated(void) { StepLog::instance().evaluated(); }

void redline_log_pause(void) { StepLog::instance().pause(); }

[[gnu::hot]] int redline_log_step(int64_t samples, int64_t tokens) {
  return end_logged_step(samples, tokens, StepLog::Kind::kTraining);
}

int redline_log_batch(int64_t samples, int64_t tokens) {
  return end_logged_step(samples, tokens, StepLog::Kind::kInference);
}

int redline_log_open(const char* directory, const char* run, int rank, int world_size) {
  if (directory == nullptr) return failure("log: no directory");
  return guarded_log([&](StepLog& log) {
    redline::trace::LogOwner owner;
    owner.run = run != nullptr ? run : "";
    owner.rank = rank;
    owner.world_size = world_size;
    return log.open(directory, std::move(owner));
  });
}

void redline_log_mark(int kind, int64_t length_ns, const char* text) {
  if (kind < 0 || kind > static_cast<int>(LogMarkKind::kBatches)) return;
  guarded_log([&](StepLog& log) -> Result {
    log.mark(static_cast<LogMarkKind>(kind), length_ns, text != nullptr ? text : "");
    return {};
  });
}

void redline_log_device_memory(int64_t bytes) { StepLog::instance().set_device_memory(bytes); }

void redline_log_close(int status) { StepLog::instance().close(status); }

void redline_log_progress(int64_t* steps, int64_t* age_ns) {
  const auto progress = StepLog::instance().progress();
  if (steps != nullptr) *steps = progress.steps;
  if (age_ns != nullptr) *age_ns = progress.age_ns;
}

const char* redline_thread_wait(int64_t thread) {
  try {
    return redline::machine::thread_wait("self", thread).data();
  } catch (...) {  // no memory
    return "";
  }
}

int redline_abort_wait(int64_t most_ns) {
  return redline::profiler::wait_for_abort(std::chrono::nanoseconds(most_ns)) ? 1 : 0;
}

void redline_abort_wake() { redline::profiler::wake_abort_watch(); }

void redline_abort_told() { redline::profiler::end_abort_watch(); }

void redline_log_program_step(int64_t samples) {
  guarded_log([&](StepLog&) -> Result {
    redline::profiler::log_step_of_program(samples);
    return {};
  });
}

int redline_take_request(redline_request* request) {
  if (request == nullptr) return failure("request: no structure");
  return guarded([&](Recorder& recorder) -> Result {
    const auto wanted = redline::profiler::record_request_from_environment();
    if (!wanted) return tl::unexpected(wanted.error());
    if (redline::profiler::is_recorded_by_marker(*wanted)) {
      redline_request none = {};
      none.is_excluded = 1;  // inject.cc goes on to record
      wanted->options.directory.copy(none.directory, sizeof(none.directory) - 1);
      give(none, request);
      return {};
    }
    if (!has_interpreter()) redline::profiler::note_ranks(*wanted);
    redline::profiler::step_marker().watch("", nullptr);
    static_cast<void>(recorder.discard());  // fails if there is nothing to discard
    // Where only requests are answered, the schedule is one whose first window never comes.
    const auto none = wanted->only_on_request
                          ? redline::Schedule{.skip_first = redline::Schedule::kMost, .active = 3}
                          : redline::Schedule{.active = 0};
    const auto schedule = wanted->schedule.value_or(none);
    redline_request full = {};
    full.skip_first = schedule.skip_first;
    full.wait = schedule.wait;
    full.warmup = schedule.warmup;
    full.active = schedule.active;
    full.repeat = schedule.repeat;
    const auto& options = wanted->options;
    full.record_shapes = options.record_shapes ? 1 : 0;
    full.profile_memory = options.profile_memory ? 1 : 0;
    full.with_stack = options.with_stack ? 1 : 0;
    full.with_flops = options.with_flops ? 1 : 0;
    full.with_modules = options.with_modules ? 1 : 0;
    full.memory_budget_bytes = options.memory_budget_bytes;
    full.max_bytes = options.max_bytes;
    full.host_samples_hz = options.host_samples_hz;
    full.ring_seconds = options.ring_seconds;
    full.slow_step = options.slow_step;
    full.no_cpu = options.record_cpu ? 0 : 1;
    full.no_gpu = options.record_gpu ? 0 : 1;
    full.max_write_rate = options.max_write_rate;
    full.is_excluded = redline::profiler::is_excluded(*wanted) ? 1 : 0;
    options.directory.copy(full.directory, sizeof(full.directory) - 1);
    give(full, request);
    return {};
  });
}

int redline_note(const char* what, const char* text) {
  return guarded([&](Recorder&) -> Result {
    if (redline::launch::RecordNotes::add({what, text})) return {};
    return tl::unexpected(std::string("note: the file of the notes is out of reach"));
  });
}

int redline_schedule_action(int64_t skip_first, int64_t wait, int64_t warmup, int64_t active,
                            int64_t repeat, int64_t step) {
  const redline::Schedule schedule = {skip_first, wait, warmup, active, repeat};
  return static_cast<int>(schedule.action(step));
}
