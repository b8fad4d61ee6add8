// A trial's ranks report to the runner in lines of JSON over a FIFO, each in a single write. A
// write of up to PIPE_BUF bytes is atomic (pipe 7), so the lines of several ranks never mix.
//
// The FIFO is opened here for reading and writing. The reader then sees no end of file when a rank
// dies, and a rank that opens it after the runner is gone gets an error (ENXIO) instead of waiting.
// A socket was rejected: ranks would need an address and a connection each, and one that is killed
// in the middle of a line would leave a part of it; a FIFO needs a path in one variable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "base/file.h"

namespace redline::tuner {

/// What a rank has done so far. The counts are totals, so that a line that is lost to a full pipe
/// loses no sample.
struct StepReport {
  int rank = 0;
  int world_size = 1;
  int64_t time_ns = 0;  ///< CLOCK_MONOTONIC at the end of the last step
  int64_t steps = 0;    ///< optimizer steps
  int64_t samples = 0;
  /// Most device memory that was reserved; nullopt on a CPU.
  std::optional<uint64_t> peak_memory_bytes;
  /// The least that tensors held between steps: weights, gradients and optimizer states.
  std::optional<uint64_t> resting_memory_bytes = std::nullopt;
  std::optional<uint64_t> memory_capacity_bytes = std::nullopt;  ///< of the device
  int device = 0;   ///< the device that this memory is of: the fullest of `devices`
  int devices = 1;  ///< how many the rank uses
  std::optional<int64_t> data_wait_ns = std::nullopt;  ///< time that the loop waited for its loader
  int64_t batches_ahead = 0;  ///< that the workers of its loader may have made ahead; 0: none
  int64_t evaluation_ns = 0;  ///< time that the loop evaluated instead of trained
  std::optional<int64_t> epoch_samples = std::nullopt;  ///< of this rank
  /// A step is a batch of inference; the first report without it begins training.
  bool inference = false;
  std::optional<int64_t> tokens = std::nullopt;  ///< in all samples, if they are sequences
  std::string batches_digest = {};               ///< of what the rank reads, for sample_shares()
  bool may_train = false;  ///< inference so far, but the script's code may train later
  /// How long each batch of inference since the last report took.
  std::vector<int64_t> batches_ns = {};
};

/// A failure that the hook saw as a typed exception, or that the program reported itself.
struct FailureReport {
  int rank = 0;
  std::string kind;     ///< gpu_oom, host_oom, nan_loss, exception
  std::string error;    ///< "torch.OutOfMemoryError"
  std::string message;  ///< first line of the exception's text
};

/// The knob values that the job runs with. Knobs that were not set have the script's own values,
/// which the table shows as defaults.
struct SeenReport {
  int rank = 0;
  std::map<std::string, std::string> knobs;
};

/// A knob that could not be applied, and why.
struct NoteReport {
  int rank = 0;
  std::string text;
};

/// Knobs that this job has no use for, whether they are set or not, and why: "no DataLoader feeds
/// the training".
struct UnusedReport {
  int rank = 0;
  std::vector<std::string> knobs;
  std::string why;
  std::optional<int64_t> above = std::nullopt;  ///< if set, only values above this are of no use
};

/// torch.compile began or ended. While it runs, no step can come.
struct CompileReport {
  int rank = 0;
  bool running = false;
  int64_t total_ns = 0;  ///< time of all compilations that ended
};

/// The start-up hook works; from now on the trial's timeout counts.
struct BeginReport {
  int rank = 0;
};

/// What the job does while no step has ended yet, or none that is counted.
struct ActivityReport {
  int rank = 0;
  int64_t forwards = 0;  ///< forward passes with gradients of a model that the script calls
  int64_t backwards = 0;
  /// Optimizer steps since the latest that a new batch went into.
  int64_t without_batch = 0;
};

using Report = std::variant<StepReport, FailureReport, SeenReport, NoteReport, UnusedReport,
                            CompileReport, BeginReport, ActivityReport>;

/// Reads one line of the channel; nullopt if it is no report.
[[nodiscard]] std::optional<Report> parse_report(const std::string& line);

class ReportChannel {
 public:
  /// Makes the FIFO at `path` and opens it. With `other_machines` it also makes a folder PATH.d,
  /// for the files of ranks that share the folder but not the machine. The error is one line.
  [[nodiscard]] static tl::expected<ReportChannel, std::string> create(const std::string& path,
                                                                       bool other_machines = false);

  /// All whole reports that have arrived; a partial last line is kept for the next call.
  std::vector<Report> read();

  /// How many lines so far were no reports.
  [[nodiscard]] int64_t garbage() const { return garbage_; }

 private:
  struct Source {
    explicit Source(int descriptor) : file(descriptor) {}
    FileDescriptor file;
    std::string rest;
  };

  explicit ReportChannel(int fifo) { sources_.try_emplace("", fifo); }
  void read(Source& source, std::vector<Report>& reports);

  std::map<std::string, Source> sources_;  // by path; the FIFO's is ""
  std::string folder_;                     // empty: one machine
  int64_t garbage_ = 0;
};

}  // namespace redline::tuner
