#include "profiler/session/recorder.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/quiet_thread.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/log/per_thread.h"
#include "profiler/session/step_log.h"

namespace redline::profiler {
namespace {

// Shorter than 20 ms, after which the writer thread looks whether memory gets scarce.
constexpr auto kWaitForWriter = std::chrono::milliseconds(5);
constexpr int kMostWaits = 200;

REDLINE_THREAD_LOCAL ThreadLog* t_log = nullptr;
pthread_key_t g_log_key;

/// The folder in which the trace grows while it is recorded.
std::string folder_of(const Options& options) {
  if (!options.directory.empty()) return options.directory;
  std::error_code error;  // TMPDIR may name no folder
  const std::filesystem::path path = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : path.string();
}

Result misuse(const char* what) { return tl::unexpected(std::string(what)); }

}  // namespace

Result make_directory(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return tl::unexpected("cannot create " + directory + ": " + failure.message());
  return {};
}

tl::expected<std::string, std::string> whole_path(const std::string& directory) {
  if (directory.empty()) return directory;
  std::error_code failure;
  const auto path = std::filesystem::absolute(directory, failure);
  if (failure) return tl::unexpected("no current directory: " + failure.message());
  const bool goes_up = std::ranges::find(path, "..") != path.end();  // perhaps out of a link
  std::string whole = goes_up ? path : path.lexically_normal();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

void say_not_written(const std::string& why) {
  std::fprintf(stderr, "redline: trace not written: %s\n", why.c_str());
}

[[gnu::hot]] Recorder& Recorder::instance() {
  static Recorder* const recorder = new Recorder;  // never destroyed, on purpose
  return *recorder;
}

Recorder::Recorder()
    : gpu_(*new cupti::CuptiSource), sources_{&host_sampler_, &gpu_sampler_, &gpu_} {
  pthread_key_create(&g_log_key, [](void* log) {
    t_log = nullptr;
    ThreadRegistry::leave(static_cast<ThreadLog*>(log));
  });
  pthread_atfork(nullptr, nullptr, [] {
    instance().is_child_ = true;
    instance().recording_ = false;
  });
  for (auto* at_end : {&std::atexit, &std::at_quick_exit}) at_end([] { instance().finish(); });
}

Result Recorder::check_alive() const {
  if (is_child_) return misuse("this process was forked from a recorded one and is not recorded");
  if (is_over_) return misuse("the process is ending");
  if (mutex_.is_mine()) return misuse("this thread is within another call of the recorder");
  return {};
}

/// Ends the other owner's window, or fails if that has priority. Waits until a stopped window of
/// the other owner is complete, because prepare() clears the texts that it needs.
Result Recorder::clear_the_way(const RecorderLock& lock, Owner owner) {
  Session& other = session(lock, owner == Owner::kProgram ? Owner::kDemand : Owner::kProgram);
  if (owner == Owner::kDemand && other.is_live()) {
    return misuse("the job is being recorded already");
  }
  if (other.state == State::kRecording) {
    stop_recording(lock, other);
    capture_.cut_short(lock, true);
  } else if (other.state == State::kPrepared) {
    discard_window(lock, other);
    capture_.cut_short(lock, false);
  }
  if (other.window) other.window->wait();
  return {};
}

Result Recorder::prepare(const Options& wanted, Owner owner) {
  if (auto alive = check_alive(); !alive) return alive;
  const auto directory = whole_path(wanted.directory);
  if (!directory) return tl::unexpected(directory.error());
  Options options = wanted;
  options.directory = *directory;
  const std::lock_guard lock(mutex_);
  Session& own = session(lock, owner);
  if (own.state == State::kPrepared) {
    if (options == own.options) return {};
    return misuse("prepare: already prepared with other options");
  }
  if (own.state == State::kRecording) return misuse("prepare: a window is being recorded");
  if (!options.directory.empty()) {
    if (auto made = make_directory(options.directory); !made) return made;
  }
  if (auto clear = clear_the_way(lock, owner); !clear) return clear;
  pace_.lift();  // nobody wants the rest of the window before
  own.window.reset();
  own.flight.reset();
  own.state = State::kIdle;  // if a later line fails, there is nothing to export
  own.options = options;
  own.reason.clear();
  own.has_told_of_slow_step = false;
  own.new_metadata.clear();
  const uint64_t text_budget = options.memory_budget_bytes / 4;
  texts_.reset(text_budget);
  pool_.set_limit(options.memory_budget_bytes - text_budget);
  pool_.warm_up();
  {
    const std::lock_guard source_lock(source_entries_mutex_);
    source_entries_.clear();
  }
  if (auto begun = begin_warmup(own); !begun) return begun;
  own.state = State::kPrepared;
  is_stopped_ = false;
  recording_ = true;
  gpu_.spool_into(folder_of(options));
  enable_sources(lock, options);
  return {};
}

Result Recorder::begin_warmup(Session& session) {
  is_drained_ = session.options.ring_ns() == 0;
  if (session.options.ring_ns() > 0) {
    session.flight =
        std::make_unique<FlightRecorder>(threads_, pool_, texts_, session.options.ring_ns());
    return {};
  }
  auto window = std::make_unique<Window>(threads_, pool_, texts_);
  if (!window->begin_warmup()) return misuse("prepare: the system has no thread left");
  session.window = std::move(window);
  return {};
}

Result Recorder::start(Owner owner) {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  Session& own = session(lock, owner);
  if (own.state == State::kRecording) return misuse("start: already started");
  if (own.state != State::kPrepared) return misuse("start: not prepared");
  own.new_metadata.clear();
  own.clock_at_begin = read_clocks();
  if (own.flight) {
    if (auto begun = begin_ring(own); !begun) return begun;
  } else {
    AssemblerOptions options = assembler_options(own);
    options.begin_ns = monotonic_ns();
    if (own.options.max_write_rate > 0) {
      pace_.set(own.options.max_write_rate);
      options.pace = &pace_;
    }
    own.window->begin(std::move(options));
  }
  own.state = State::kRecording;
  return {};
}

AssemblerOptions Recorder::assembler_options(const Session& session) const {
  return {.spool_path = folder_of(session.options) + "/" + default_trace_name() + ".partial",
          .begin_ns = 0,
          .unix_offset_ns = session.clock_at_begin.offset_ns(),
          .header = header(session),
          .max_bytes = session.options.max_bytes,
          .pace = nullptr,
          .is_private = session.options.directory.empty()};  // others may read TMPDIR
}

Result Recorder::stop(Owner owner) {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  Session& own = session(lock, owner);
  if (own.state != State::kRecording) return misuse("stop: not started");
  stop_recording(lock, own);
  return {};
}

void Recorder::stop_recording(const RecorderLock& lock, Session& session) {
  const int64_t end_ns = monotonic_ns();
  want_no_more_records();
  disable_sources(lock);
  end_window(session, end_ns);
}

void Recorder::want_no_more_records() {
  is_stopped_ = true;
  recording_ = false;
}

void Recorder::end_window(Session& session, int64_t end_ns) {
  if (session.flight) {
    session.flight->end();
  } else {
    session.window->end(end_ns, last_words(session));
    session.new_metadata.clear();
    const std::lock_guard lock(source_entries_mutex_);
    source_entries_.clear();
  }
  session.state = State::kStopped;
  session.saved = false;
}

Result Recorder::discard(Owner owner) {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  Session& own = session(lock, owner);
  if (own.state == State::kIdle) return misuse("discard: not prepared");
  write_slow_step_of(own);
  discard_window(lock, own);
  return {};
}

void Recorder::discard_window(const RecorderLock& lock, Session& session) {
  pace_.lift();
  if (session.is_live()) {
    recording_ = false;
    disable_sources(lock);
    if (session.window) session.window->discard();  // also what a full disk has cut short
  }
  session.window.reset();
  session.flight.reset();
  session.state = State::kIdle;
  pool_.trim();
}

void Recorder::set_reason(const std::string& reason, Owner owner) {
  const std::lock_guard lock(mutex_);
  session(lock, owner).reason = reason;
}

Result Recorder::complete() {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  const Session& own = session(lock, Owner::kProgram);
  if (own.state != State::kStopped) return misuse("complete: no stopped window");
  return own.window ? own.window->complete() : Result();
}

Result Recorder::save(const std::string& path, Owner owner) {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  if (session(lock, owner).state != State::kStopped) return misuse("export: no stopped window");
  return write_window(session(lock, owner), path);
}

Result Recorder::write_window(Session& session, const std::string& path) {
  if (session.flight) return write_ring_to(session, path);
  Result result;
  if (!run_quietly([&] { result = session.window->save(path); })) {
    return misuse("export: the system has no thread left");
  }
  if (result) note_saved(session, path);
  return result;
}

void Recorder::note_saved(Session& session, const std::string& path) {
  session.saved = true;
  StepLog::instance().mark(trace::LogMarkKind::kWindow, 0, path);
}

tl::expected<std::string, std::string> Recorder::save_in(const std::string& directory,
                                                         Owner owner) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const std::string path = directory + "/" + default_trace_name();
  if (auto saved = save(path, owner); !saved) return tl::unexpected(saved.error());
  return path;
}

Window::Counts Recorder::counts() {
  if (is_child_) return {};
  const std::lock_guard lock(mutex_);
  const Session& own = session(lock, Owner::kProgram);
  if (own.flight) return {.recorded = own.flight->recorded()};
  if (!own.window) return {};
  if (own.state == State::kStopped) own.window->wait();
  return own.window->counts();
}

void Recorder::set_paused(bool paused) {
  const std::lock_guard lock(mutex_);
  const bool is_live = std::ranges::any_of(sessions_, &Session::is_live);
  recording_ = is_alive() && is_live && !paused;
}

void Recorder::add_source(Source* source) {
  if (is_child_) return;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(sources_, source) != sources_.end()) return;
  sources_.push_back(source);
  for (const Session& each : sessions_) {
    if (each.is_live()) source->enable(each.options);
  }
}

void Recorder::enable_sources(const RecorderLock&, const RecorderOptions& options) {
  for (Source* source : sources_) source->enable(options);
}

void Recorder::disable_sources(const RecorderLock&) {
  for (Source* source : sources_) source->disable();
}

[[gnu::hot]] ThreadLog& Recorder::this_thread_log() {
  if (t_log == nullptr) {
    ThreadLog* log = threads_.enter();
    pthread_setspecific(g_log_key, log);
    t_log = log;
  }
  return *t_log;
}

[[gnu::hot]] TextId Recorder::intern(std::string_view text, TextForm form) {
  return this_thread_log().texts().intern(texts_, text, form);
}

TextId Recorder::intern_as(uint64_t key, std::string_view json) {
  return this_thread_log().texts().intern_as(texts_, key, json, TextForm::kJson);
}

[[gnu::hot]] TextId Recorder::known(uint64_t key) {
  return this_thread_log().texts().find(texts_, key);
}

[[gnu::hot]] void Recorder::submit(const Record& record) {
  if (recording()) this_thread_log().push(record);
}

OpenSlice* Recorder::begin_slice(const Record& record) {
  return this_thread_log().open_slices().begin(fields_of(record));
}

[[gnu::hot]] BegunSlice Recorder::begin_slice(OpenSlice::Fields fields, std::string_view name) {
  ThreadLog& log = this_thread_log();
  fields.name = log.texts().intern(texts_, name, TextForm::kName);
  return {log.open_slices().begin(fields), fields.name};
}

[[gnu::hot]] void Recorder::end_slice(OpenSlice* slice, const Record& record) {
  if (!recording()) return drop_slice(slice);
  this_thread_log().push(record);
  if (slice != nullptr) slice->end(false);
}

uint64_t Recorder::current_operator() {
  return this_thread_log().open_slices().innermost_operator();
}

[[gnu::hot]] void Recorder::drop_slice(OpenSlice* slice) {
  if (slice == nullptr) return;
  // want_no_more_records() sets is_stopped_ before it clears recording_.
  const bool is_recording = recording_.load(std::memory_order_acquire);
  slice->end(!is_recording && is_stopped_.load(std::memory_order_relaxed));
}

void Recorder::deliver(const Record& record) {
  int round = 0;
  for (; is_drained_ && pool_.is_three_quarters_used() && round < kMostWaits; ++round) {
    std::this_thread::sleep_for(kWaitForWriter);
  }
  if (round == kMostWaits) is_drained_ = false;  // the writer thread found no memory and ended
  if (!is_child_) this_thread_log().push(record);
}

void Recorder::flush_gpu() noexcept {
  if (is_child_ || mutex_.is_mine()) return;  // see finish()
  const std::lock_guard lock(mutex_);
  gpu_.flush_before_exit();
}

void Recorder::give_up_gpu(const char* tool) noexcept {
  if (is_child_) return;
  const std::lock_guard lock(mutex_);
  gpu_.give_up(tool);
}

}  // namespace redline::profiler
