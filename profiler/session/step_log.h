// The step log of this process (trace/model/step_log.h): what hooks tell of the training thread,
// and a thread that writes it down each second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/core_use.h"
#include "profiler/log/step_clock.h"
#include "trace/emit/step_log_writer.h"

namespace redline::profiler {

class StepLog {
 public:
  /// A forked child has one of its own, which is not open.
  static StepLog& instance();

  // Of the training thread; on others nothing counts. It is the one that ends the steps. Inference
  // may end them on a thread that reads ahead: there it is the one that runs the model.
  void know(trace::LogPart part);
  void enter(trace::LogPart part);
  void leave(trace::LogPart part) { leave_as(part, part); }
  void leave_as(trace::LogPart entered, trace::LogPart part);
  void evaluated();
  void pause();
  /// Inference that training follows was an evaluation.
  enum class Kind { kTraining, kInference };
  enum class Outcome { kNotOpen = -1, kDone, kMemoryIsDue };
  /// Without a log that is open, nothing is done. Every ten seconds, and in the first two minutes
  /// each second, the memory of devices is to be told.
  Outcome end_step(int64_t samples, int64_t tokens, Kind kind = Kind::kTraining);

  // Of any thread.
  [[nodiscard]] tl::expected<void, std::string> open(const std::string& folder,
                                                     trace::LogOwner owner);
  struct Progress {
    int64_t steps = 0;   ///< that have ended, in a log that is open
    int64_t age_ns = 0;  ///< since the last one did
  };
  [[nodiscard]] Progress progress();
  /// Something that ends now.
  void mark(trace::LogMarkKind kind, int64_t length_ns, std::string text);
  void set_device_memory(int64_t bytes);
  /// The process ends by itself. Waits until that is written, but no longer than two seconds, in
  /// which a time when the whole machine stands still does not count.
  void close(std::optional<int> exit_status);

 private:
  bool is_training_thread();
  void follow_thread(Kind kind);
  void add_mark(trace::LogMark mark);
  void write_each_second();
  void write(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] trace::LogBlock next_block();
  void take_written(const trace::LogBlock& block);
  void note_machine(std::unique_lock<std::mutex>& lock);

  StepClock clock_;
  const void* thread_ = nullptr;
  const void* model_thread_ = nullptr;  // ran a model last

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<trace::StepLogWriter> writer_;
  int64_t offset_ns_ = 0;                 // from the monotonic clock to the log's
  std::vector<trace::LoggedStep> steps_;  // that wait to be written, as the others
  std::vector<trace::LoggedMemory> memory_;
  std::vector<trace::LoggedCores> cores_;
  std::vector<trace::LogMark> marks_;
  int64_t ended_steps_ = 0;
  int64_t first_step_ = 0;  // of the training
  bool has_inferred_ = false;
  int64_t last_end_ns_ = 0;
  int64_t lost_steps_ = 0;
  int64_t lost_marks_ = 0;
  int64_t device_bytes_ = trace::kUnseen;
  // Of the thread that writes.
  machine::HostReader host_;
  machine::CoreUseReader core_use_;
  int64_t opened_ns_ = 0;
  int64_t machine_noted_ns_ = 0;
  int64_t memory_asked_ns_ = 0;
  bool has_told_error_ = false;
  bool is_urgent_ = false;  // what waits is to be written at once
  bool is_ending_ = false;
  bool has_ended_ = false;
  std::optional<int> exit_status_;
};

/// What `redline run --log`, `redline record` and trials ask of this process: REDLINE_LOG. Opens
/// the log of a C++ job at its first step, or never. What a process forks after that has none.
void log_step_of_program(int64_t samples);

}  // namespace redline::profiler
