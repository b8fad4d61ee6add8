// What can be asked of the recorder, beside when and where it records.
//
// An option is one member of RecorderOptions and one row of for_each_option(), which has everything
// that is said of it: its key in JSON (redline_prepare(), REDLINE_RECORD, the trace's metadata) and
// in Python, its flag on the command line of `redline record`, its help and its limits. Readers and
// writers of options walk over the rows, so that none of them has a list or a default of its own.
//
// Plain types only: sources that are built with another ABI of the standard library read them, too.
#pragma once

#include <cstdint>

namespace redline {

struct RecorderOptions {
  bool record_shapes = false;   ///< of the operators' inputs
  bool profile_memory = false;  ///< allocations and releases of tensors
  bool with_stack = false;
  bool with_flops = false;  ///< comes with record_shapes
  bool with_modules = false;
  bool record_cpu = true;        ///< operators; annotations and steps are recorded in any case
  bool record_gpu = true;        ///< where this process has one
  int32_t host_samples_hz = 10;  ///< of counter tracks about the machine; 0: none
  uint64_t max_bytes = 0;        ///< of a trace's text before compression; 0: any
  uint64_t memory_budget_bytes = uint64_t{64} << 20;  ///< for records that wait to be written
  /// > 0: a flight recorder. Only the last seconds are kept, and written for a slow step, a hang, a
  /// crash, SIGTERM, `redline trigger`, and when the program asks.
  double ring_seconds = 0;
  double slow_step = 3;  ///< times the median step that is slow; 0: no step is

  bool operator==(const RecorderOptions&) const = default;
};

inline constexpr RecorderOptions kRecorderDefaults;

/// A row of the table. A switch is a flag that sets what the default is not.
struct OptionRow {
  enum class Unit : uint8_t { kNone, kBytes, kSeconds };

  const char* key;
  const char* flag;
  const char* help;             ///< "{}" stands for the default
  const char* value = nullptr;  ///< what the help calls the flag's value
  Unit unit = Unit::kNone;      ///< that the flag's value may have behind it
  bool (*is_allowed)(double) = nullptr;
  const char* limits = nullptr;  ///< "must be …" says an error
};

/// Calls visit(row, pointer to member) for each option. `Options` is RecorderOptions, or has
/// members of the same names.
template <typename Options, typename Visit>
void for_each_option(Visit visit) {
  visit(OptionRow{"record_shapes", "--shapes",
                  "Input shapes, types and scalar values of each operator too"},
        &Options::record_shapes);
  visit(OptionRow{"profile_memory", "--memory", "Each allocation and release of tensors too"},
        &Options::profile_memory);
  visit(OptionRow{"with_flops", "--flops",
                  "Estimated floating-point operations of each operator too"},
        &Options::with_flops);
  visit(OptionRow{"with_stack", "--stacks",
                  "Python functions, or the C++ call stack of each operator, too"},
        &Options::with_stack);
  visit(OptionRow{"with_modules", "--modules",
                  "The TorchScript modules that operators belong to, too"},
        &Options::with_modules);
  visit(OptionRow{"cpu", "--no-cpu", "Leave out operators; record GPUs, annotations and steps"},
        &Options::record_cpu);
  visit(OptionRow{"gpu", "--no-gpu", "Leave out GPUs"}, &Options::record_gpu);
  visit(OptionRow{"host_samples_hz", "--host-samples",
                  "Samples a second of cores, memory, disk and DataLoader workers ({}); 0: none",
                  "HZ", OptionRow::Unit::kNone, [](double hz) { return hz >= 0 && hz <= 100; },
                  "at most 100"},
        &Options::host_samples_hz);
  visit(OptionRow{"max_bytes", "--max-size",
                  "Largest size of a trace before compression, e.g. 500MB; later events are only "
                  "counted",
                  "SIZE", OptionRow::Unit::kBytes,
                  [](double bytes) { return bytes == 0 || bytes >= 1 << 20; }, "at least 1MB"},
        &Options::max_bytes);
  visit(OptionRow{"memory_budget_bytes", "--memory-budget",
                  "Most memory for events that wait to be written ({})", "SIZE",
                  OptionRow::Unit::kBytes, [](double bytes) { return bytes >= 1 << 20; },
                  "at least 1MB"},
        &Options::memory_budget_bytes);
  visit(
      OptionRow{"ring_seconds", "--ring",
                "Flight recorder: keep only the last seconds, e.g. 30s, and write them for a "
                "slow step, a hang, a crash, SIGTERM or redline trigger",
                "TIME", OptionRow::Unit::kSeconds,
                [](double seconds) { return seconds >= 0 && seconds <= 86'400; }, "at most a day"},
      &Options::ring_seconds);
  visit(OptionRow{"slow_step", "--slow-step",
                  "With --ring: a step longer than N times the median is slow ({}); 0: no step is",
                  "N", OptionRow::Unit::kNone, [](double times) { return times == 0 || times > 1; },
                  "above 1, or 0"},
        &Options::slow_step);
}

}  // namespace redline
