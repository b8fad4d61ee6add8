// For training programs in C++: the knobs of the trial that autotune started, and reports to it.
//
//   auto trial = redline::Trial::from_environment();
//   const int64_t batch_size = trial.knob("batch_size", options.batch_size);
//   …
//   trial.step(batch_size);   // after each optimizer step
//
// Outside of a trial, for example under `redline run`, knobs are still read, and reports go
// nowhere. Link Redline::trial; nothing else of Redline is needed, and no Python.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace redline {

class Trial {
 public:
  /// Reads REDLINE_KNOBS and REDLINE_TRIAL, and this process's place in the job from the variables
  /// of torchrun, Open MPI, Slurm or MPICH. Never throws; if REDLINE_KNOBS is no JSON object, no
  /// knob is set.
  [[nodiscard]] static Trial from_environment();

  Trial(Trial&& other) noexcept = default;
  Trial& operator=(Trial&&) = delete;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  /// Whether autotune measures this process.
  [[nodiscard]] bool is_measured() const { return pipe_.descriptor >= 0; }

  /// A knob's value, or `otherwise` if the knob is not set or its value is not of this type (no
  /// number, or none that fits; neither "on" nor "off"). autotune shows `otherwise` as the
  /// program's default. A knob for which the program has not asked before its first step leaves the
  /// search. A knob of the program's own, whose name autotune does not know, needs its {NAME} in
  /// the command.
  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number>
  [[nodiscard]] Number knob(std::string_view name, Number otherwise) {
    if (const std::string* set = find(name)) {
      Number value = 0;
      const char* const end = set->data() + set->size();
      const auto read = std::from_chars(set->data(), end, value);
      if (read.ec == std::errc() && read.ptr == end) {
        note_seen(name, *set);
        return value;
      }
    }
    char text[64];
    note_seen(name, std::string(text, std::to_chars(text, text + sizeof(text), otherwise).ptr));
    return otherwise;
  }
  [[nodiscard]] bool knob(std::string_view name, bool otherwise);
  [[nodiscard]] std::string knob(std::string_view name, const char* otherwise);

  /// Reports an optimizer step of this rank, which used `samples` samples. Costs at most one system
  /// call every 5 ms.
  void step(int64_t samples);
  /// Reports the peak of reserved device memory and the memory that the device has, in bytes. Both
  /// are sent with the next step.
  void memory(uint64_t peak_bytes, uint64_t capacity_bytes);
  /// Ends the trial with a reason that the program knows better than its exit status tells: call
  /// out_of_memory() if an allocation on the device failed, fail() with any other outcome of
  /// docs/trials.md.
  void out_of_memory(const std::string& message) { fail("gpu_oom", message); }
  void fail(const char* kind, const std::string& message);

 private:
  /// To autotune. Only one object has it.
  struct Pipe {
    int descriptor = -1;
    Pipe() = default;
    Pipe(Pipe&& other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  };

  Trial() = default;
  [[nodiscard]] const std::string* find(std::string_view name) const;
  void note_seen(std::string_view name, const std::string& value);
  void send_seen() const;
  /// Names the knobs that the program has not asked for until its first step.
  void send_unused() const;
  void send_step(int64_t now_ns);
  bool send(std::string line) const;

  std::map<std::string, std::string, std::less<>> knobs_;
  std::map<std::string, std::string, std::less<>> seen_;
  Pipe pipe_;
  int64_t rank_ = 0;
  int64_t world_size_ = 1;
  int64_t steps_ = 0;
  int64_t steps_sent_ = 0;
  int64_t samples_ = 0;
  int64_t last_step_ns_ = 0;
  int64_t last_sent_ns_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace redline
