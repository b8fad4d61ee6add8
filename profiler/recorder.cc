#include "profiler/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "profiler/quiet_thread.h"

namespace redline::profiler {
namespace {

thread_local ThreadLog* t_log = nullptr;
pthread_key_t g_log_key;

int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

/// Unix time minus monotonic time, from the tightest of a few bracketed readings.
int64_t unix_offset_ns() {
  int64_t best_width = INT64_MAX, offset = 0;
  for (int i = 0; i < 8; ++i) {
    const int64_t before = monotonic_ns();
    const int64_t unix_now = realtime_ns();
    const int64_t after = monotonic_ns();
    if (after - before >= best_width) continue;
    best_width = after - before;
    offset = unix_now - (before + after) / 2;
  }
  return offset;
}

std::string random_trace_id() {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::random_device random;
  std::string id(32, '0');
  for (char& digit : id) digit = kHex[random() % 16];
  return id;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name[0] != '\0' ? name : "localhost";
}

Result make_directory(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return tl::unexpected("cannot create " + directory + ": " + failure.message());
  return {};
}

Result misuse(const char* what) { return tl::unexpected(std::string(what)); }

void put(std::vector<trace::Entry>& entries, const trace::Entry& entry) {
  const auto known = std::ranges::find(entries, entry.first, &trace::Entry::first);
  if (known != entries.end()) {
    known->second = entry.second;
  } else {
    entries.push_back(entry);
  }
}

/// put(), but what others said under our own key stays.
void join(std::vector<trace::Entry>& entries, const trace::Entry& entry) {
  if (entry.first == kOwnEntry) {
    entries.push_back(entry);
  } else {
    put(entries, entry);
  }
}

}  // namespace

std::string default_trace_name() {
  return host_name() + "_" + std::to_string(getpid()) + "." + std::to_string(realtime_ns()) +
         ".pt.trace.json.gz";
}

Recorder& Recorder::instance() {
  static Recorder* const recorder = new Recorder;  // never destroyed, on purpose
  return *recorder;
}

Recorder::Recorder() {
  pthread_key_create(&g_log_key, [](void* log) {
    t_log = nullptr;
    ThreadRegistry::leave(static_cast<ThreadLog*>(log));
  });
  pthread_atfork(nullptr, nullptr, [] {
    instance().is_child_ = true;
    instance().recording_ = false;
  });
  std::atexit([] { instance().finish(); });
}

Result Recorder::refuse_in_child() const {
  if (is_child_) return misuse("this process was forked from a recorded one and is not recorded");
  return {};
}

Result Recorder::prepare(const Options& options) {
  if (auto child = refuse_in_child(); !child) return child;
  const std::lock_guard lock(mutex_);
  if (state_ == State::kPrepared) {
    if (options == options_) return {};
    return misuse("prepare: already prepared with other options");
  }
  if (state_ == State::kRecording) return misuse("prepare: a window is being recorded");
  if (!options.directory.empty()) {
    if (auto made = make_directory(options.directory); !made) return made;
  }
  window_.reset();
  options_ = options;
  const uint64_t text_budget = options.memory_budget_bytes / 4;
  texts_.reset(text_budget);
  pool_.set_limit(options.memory_budget_bytes - text_budget);
  pool_.warm_up();
  {
    const std::lock_guard source_lock(source_entries_mutex_);
    source_entries_.clear();
  }
  auto window = std::make_unique<Window>(threads_, pool_, texts_);
  if (!window->begin_warmup()) return misuse("prepare: the system has no thread left");
  window_ = std::move(window);
  state_ = State::kPrepared;
  recording_ = true;
  enable_sources();
  return {};
}

std::vector<trace::Entry> Recorder::header() const {
  std::vector<trace::Entry> entries = {{"deviceProperties", "[]"},
                                       {"trace_id", trace::json_string(random_trace_id())}};
  if (options_.sources.record_shapes) entries.emplace_back("record_shapes", "1");
  for (const auto& entry : metadata_) put(entries, entry);
  put(entries, {"host_name", trace::json_string(host_name())});
  return entries;
}

Result Recorder::start() {
  if (auto child = refuse_in_child(); !child) return child;
  const std::lock_guard lock(mutex_);
  if (state_ == State::kRecording) return misuse("start: already started");
  if (state_ != State::kPrepared) return misuse("start: not prepared");
  const std::string folder = options_.directory.empty()
                                 ? std::filesystem::temp_directory_path().string()
                                 : options_.directory;
  AssemblerOptions options = {.spool_path = folder + "/" + default_trace_name() + ".partial",
                              .begin_ns = 0,
                              .unix_offset_ns = unix_offset_ns(),
                              .header = header(),
                              .max_bytes = options_.max_bytes};
  new_metadata_.clear();
  options.begin_ns = monotonic_ns();
  window_->begin(std::move(options));
  state_ = State::kRecording;
  return {};
}

Result Recorder::stop() {
  if (auto child = refuse_in_child(); !child) return child;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kRecording) return misuse("stop: not started");
  const int64_t end_ns = monotonic_ns();
  recording_ = false;
  disable_sources();
  end_window(end_ns);
  return {};
}

void Recorder::end_window(int64_t end_ns) {
  {
    const std::lock_guard lock(source_entries_mutex_);
    for (const auto& entry : source_entries_) join(new_metadata_, entry);
    source_entries_.clear();
  }
  window_->end(end_ns, std::move(new_metadata_));
  new_metadata_.clear();
  state_ = State::kStopped;
  saved_ = false;
}

Result Recorder::discard() {
  if (auto child = refuse_in_child(); !child) return child;
  const std::lock_guard lock(mutex_);
  if (state_ == State::kIdle) return misuse("discard: not prepared");
  recording_ = false;
  disable_sources();
  window_.reset();
  pool_.trim();
  state_ = State::kIdle;
  return {};
}

Result Recorder::save(const std::string& path) {
  if (auto child = refuse_in_child(); !child) return child;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kStopped) return misuse("export: no stopped window");
  return write_window(path);
}

Result Recorder::write_window(const std::string& path) {
  Result result;
  if (!run_quietly([&] { result = window_->save(path); })) {
    return misuse("export: the system has no thread left");
  }
  saved_ = saved_ || result.has_value();
  return result;
}

tl::expected<std::string, std::string> Recorder::save_in(const std::string& directory) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const std::string path = directory + "/" + default_trace_name();
  if (auto saved = save(path); !saved) return tl::unexpected(saved.error());
  return path;
}

Result Recorder::add_metadata(const std::string& key, const std::string& json) {
  if (auto child = refuse_in_child(); !child) return child;
  static constexpr std::string_view kOwn[] = {"traceEvents", "traceName", "schemaVersion",
                                              "displayTimeUnit", "baseTimeNanoseconds"};
  if (std::ranges::find(kOwn, key) != std::end(kOwn)) {
    return tl::unexpected("metadata " + key + ": the trace has this key already");
  }
  if (!is_json(json)) return tl::unexpected("metadata " + key + ": not a JSON value");
  const std::lock_guard lock(mutex_);
  if (key == kOwnEntry) {
    if (state_ != State::kRecording) return misuse("metadata redline: no window is being recorded");
    if (!is_json_object(json)) return misuse("metadata redline: not a JSON object");
    put(new_metadata_, {key, json});
    return {};
  }
  put(metadata_, {key, json});
  if (state_ == State::kRecording) put(new_metadata_, {key, json});
  return {};
}

Window::Counts Recorder::counts() {
  if (is_child_) return {};
  const std::lock_guard lock(mutex_);
  if (!window_) return {};
  if (state_ == State::kStopped) window_->wait();
  return window_->counts();
}

void Recorder::add_source(Source* source) {
  if (is_child_) return;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(sources_, source) != sources_.end()) return;
  sources_.push_back(source);
  if (recording_) source->enable(options_.sources);
}

void Recorder::add_source_entry(const std::string& key, const std::string& json) {
  if (!recording() || !is_json(json) || (key == kOwnEntry && !is_json_object(json))) return;
  const std::lock_guard lock(source_entries_mutex_);
  join(source_entries_, {key, json});
}

void Recorder::enable_sources() {
  for (Source* source : sources_) source->enable(options_.sources);
}

void Recorder::disable_sources() {
  for (Source* source : sources_) source->disable();
}

ThreadLog& Recorder::this_thread_log() {
  if (t_log == nullptr) {
    ThreadLog* log = threads_.enter();
    pthread_setspecific(g_log_key, log);
    t_log = log;
  }
  return *t_log;
}

TextId Recorder::intern(std::string_view text, TextForm form) {
  return this_thread_log().texts().intern(texts_, text, form);
}

void Recorder::submit(const Record& record) {
  if (recording()) this_thread_log().push(record);
}

/// The sources stay enabled: their LibTorch may be half destroyed by now.
void Recorder::finish() {
  if (is_child_) return;
  const int64_t end_ns = monotonic_ns();
  recording_ = false;
  const std::lock_guard lock(mutex_);
  // Nobody is left to hear of an error; a .partial file tells.
  if (state_ == State::kRecording && !options_.directory.empty()) {
    end_window(end_ns);
  }
  if (state_ == State::kStopped && !saved_ && !options_.directory.empty()) {
    static_cast<void>(write_window(options_.directory + "/" + default_trace_name()));
  }
  window_.reset();
  state_ = State::kIdle;
}

}  // namespace redline::profiler
