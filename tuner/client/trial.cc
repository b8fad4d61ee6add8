#include "tuner/client/trial.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/json_values.h"
#include "base/launched_rank.h"
#include "base/user_switch.h"

namespace redline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kBetweenLinesNs = 5'000'000;
// Keeps a line below PIPE_BUF, so that lines of several ranks never mix.
constexpr size_t kLongestMessage = 3000;
constexpr int kPatienceMs = 1000;  // how long a line that must not be lost waits for a full pipe

/// Of libredline.so, where `redline run --log` or a trial has put that into this process.
void log_step(int64_t samples) {
  using LogStep = void (*)(int64_t);
  static const auto log =
      reinterpret_cast<LogStep>(dlsym(RTLD_DEFAULT, "redline_log_program_step"));
  if (log != nullptr) log(samples);
}

}  // namespace

Trial Trial::from_environment() {
  Trial trial;
  const JobRank launched = launched_rank().value_or(JobRank{});
  trial.rank_ = launched.rank;
  trial.world_size_ = launched.world_size;
  const Json knobs = Json::parse(user_variable("REDLINE_KNOBS"), nullptr, false);
  if (knobs.is_object()) {
    for (const auto& [name, value] : knobs.items()) trial.knobs_[name] = plain_text(value);
  }
  if (const std::string path = user_variable("REDLINE_TRIAL"); !path.empty()) {
    trial.pipe_.descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    (void)trial.send(Json{{"type", "begin"}, {"rank", trial.rank_}}.dump());
  }
  return trial;
}

Trial::~Trial() {
  if (pipe_.descriptor < 0) return;
  if (steps_ > steps_sent_) send_step(last_step_ns_);
  close(pipe_.descriptor);
}

const std::string* Trial::find(std::string_view name) const {
  const auto found = knobs_.find(name);
  return found == knobs_.end() ? nullptr : &found->second;
}

void Trial::note_seen(std::string_view name, const std::string& value) {
  seen_.insert_or_assign(std::string(name), value);
}

bool Trial::knob(std::string_view name, bool otherwise) {
  const std::string* set = find(name);
  const bool value = !set ? otherwise : *set == "on" || (*set != "off" && otherwise);
  note_seen(name, value ? "on" : "off");
  return value;
}

std::string Trial::knob(std::string_view name, const char* otherwise) {
  const std::string* set = find(name);
  std::string value = set ? *set : otherwise;
  note_seen(name, value);
  return value;
}

void Trial::step(int64_t samples) {
  log_step(samples);
  ++steps_;
  samples_ += samples;
  last_step_ns_ = monotonic_ns();
  if (pipe_.descriptor < 0 || last_step_ns_ - last_sent_ns_ < kBetweenLinesNs) return;
  if (steps_ == 1) {
    send_seen();
    send_unused();
  }
  send_step(last_step_ns_);
}

void Trial::memory(uint64_t peak_bytes, uint64_t capacity_bytes) {
  peak_bytes_ = peak_bytes;
  capacity_bytes_ = capacity_bytes;
}

void Trial::send_seen() const {
  (void)send(json_text(Json{{"type", "seen"}, {"rank", rank_}, {"knobs", seen_}}));
}

void Trial::send_unused() const {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return;  // the start-up hook sets them
  Json unused = Json::array();
  for (const auto& knob : knobs_) {
    if (!seen_.contains(knob.first)) unused.push_back(knob.first);
  }
  if (unused.empty()) return;
  (void)send(json_text(Json{{"type", "unused"},
                            {"rank", rank_},
                            {"knobs", unused},
                            {"why", "the program does not ask redline::Trial for it"}}));
}

void Trial::send_step(int64_t now) {
  Json line = {{"type", "step"}, {"rank", rank_},   {"world", world_size_},
               {"t", now},       {"steps", steps_}, {"samples", samples_}};
  if (peak_bytes_ > 0) line["memory"] = peak_bytes_;
  if (capacity_bytes_ > 0) line["capacity"] = capacity_bytes_;
  last_sent_ns_ = now;
  if (send(line.dump())) steps_sent_ = steps_;
}

void Trial::fail(const char* kind, const std::string& message) {
  if (pipe_.descriptor < 0) return;
  if (steps_ == 0 && !seen_.empty()) send_seen();  // tells the search which batch was too large
  const Json line = {{"type", "failure"},
                     {"rank", rank_},
                     {"kind", kind},
                     {"error", ""},
                     {"message", message.substr(0, kLongestMessage)}};
  const std::string text = json_text(line);
  pollfd pipe{.fd = pipe_.descriptor, .events = POLLOUT, .revents = 0};
  if (!send(text) && poll(&pipe, 1, kPatienceMs) > 0) (void)send(text);
}

/// Writes the line in one write: whole or not at all. SIGPIPE does no harm, because without its
/// reader, autotune, the trial is ended anyway.
bool Trial::send(std::string line) const {
  line += '\n';
  ssize_t written = 0;
  do {
    written = write(pipe_.descriptor, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(line.size());
}

}  // namespace redline
