// The options of the recorder: what it records, but not when and where.
//
// An option is one member of RecorderOptions and one row of for_each_option(). The row holds its
// key in JSON (redline_prepare(), REDLINE_RECORD, the trace's metadata) and in Python, its flag on
// the command line of `redline record`, its help and its limits. Code that reads or writes options
// walks over the rows, so that no other place has a list of options or their defaults.
//
// All types are plain, because sources that are built with another ABI of the standard library
// read them, too.
#pragma once

#include <cstdint>

namespace redline {

struct RecorderOptions {
  bool record_shapes = false;   ///< shapes, types and scalar values of the operators' inputs
  bool profile_memory = false;  ///< allocations and releases of tensors
  bool with_stack = false;
  bool with_flops = false;  ///< estimated operations; it turns record_shapes on
  bool with_modules = false;
  bool record_cpu = true;        ///< operators; annotations and steps are recorded in any case
  bool record_gpu = true;        ///< the work of GPUs, if this process uses one
  int32_t host_samples_hz = 10;  ///< how often cores, memory and disk are sampled; 0: never
  uint64_t max_bytes = 0;        ///< the most text in a trace before compression; 0: no limit
  uint64_t max_write_rate = 0;   ///< the most bytes a second that a rank writes; 0: no limit
  uint64_t memory_budget_bytes = uint64_t{64} << 20;  ///< for records that wait to be written
  /// > 0: a flight recorder. It keeps only the last seconds, and writes them at a slow step, a
  /// hang, a crash, SIGTERM, `redline trigger`, and when the program asks.
  double ring_seconds = 0;
  double slow_step = 3;  ///< a step is slow if it takes so many times the median; 0: no step is

  bool operator==(const RecorderOptions&) const = default;
};

inline constexpr RecorderOptions kRecorderDefaults;

/// A row of the table. The flag of a bool takes no value: it sets the opposite of the default.
struct OptionRow {
  enum class Unit : uint8_t { kNone, kBytes, kSeconds };

  const char* key;
  const char* flag;
  const char* help;             ///< "{}" stands for the default
  const char* value = nullptr;  ///< the name of the flag's value in the help, such as "SIZE"
  Unit unit = Unit::kNone;      ///< the flag's value may have such a unit behind its number
  bool (*is_allowed)(double) = nullptr;
  const char* limits = nullptr;  ///< for the error: the value must be …
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
  visit(
      OptionRow{"with_modules", "--modules",
                "The calls of a model's modules, and the modules of TorchScript's operators, too"},
      &Options::with_modules);
  visit(OptionRow{"cpu", "--no-cpu", "Leave out operators; record GPUs, annotations and steps"},
        &Options::record_cpu);
  visit(OptionRow{"gpu", "--no-gpu", "Leave out GPUs"}, &Options::record_gpu);
  visit(OptionRow{"host_samples_hz", "--host-samples",
                  "Samples a second of cores, memory, disk and DataLoader workers, at most 100 "
                  "({}); 0: none",
                  "HZ", OptionRow::Unit::kNone, [](double hz) { return hz >= 0 && hz <= 100; },
                  "from 0 to 100"},
        &Options::host_samples_hz);
  visit(OptionRow{"max_bytes", "--max-size",
                  "Largest size of a trace before compression, at least 1MB, e.g. 500MB; later "
                  "events are only counted",
                  "SIZE", OptionRow::Unit::kBytes,
                  [](double bytes) { return bytes == 0 || bytes >= 1e6; }, "at least 1MB"},
        &Options::max_bytes);
  visit(OptionRow{"max_write_rate", "--max-write-rate",
                  "Most bytes of its trace that each rank writes in a second, at least 64kB, e.g. "
                  "5MB; what comes faster waits in memory",
                  "SIZE", OptionRow::Unit::kBytes,
                  [](double bytes) { return bytes == 0 || bytes >= 64e3; }, "at least 64kB"},
        &Options::max_write_rate);
  visit(
      OptionRow{"memory_budget_bytes", "--memory-budget",
                "Most memory for events that wait to be written, at least 1MB ({})", "SIZE",
                OptionRow::Unit::kBytes, [](double bytes) { return bytes >= 1e6; }, "at least 1MB"},
      &Options::memory_budget_bytes);
  visit(OptionRow{"ring_seconds", "--ring",
                  "Flight recorder: keep only the last seconds, at most 24h, e.g. 30s, and write "
                  "them for a slow step, a hang, a crash, SIGTERM or redline trigger",
                  "TIME", OptionRow::Unit::kSeconds,
                  [](double seconds) { return seconds >= 0 && seconds <= 86'400; },
                  "from 0 to a day"},
        &Options::ring_seconds);
  visit(OptionRow{"slow_step", "--slow-step",
                  "With --ring: a step longer than N times the median is slow ({}); 0: no step is",
                  "N", OptionRow::Unit::kNone, [](double times) { return times == 0 || times > 1; },
                  "above 1, or 0"},
        &Options::slow_step);
}

}  // namespace redline
