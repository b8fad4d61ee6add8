// What this machine's cores could do at most, by a measurement of two seconds, and the file that
// keeps it: `redline doctor --measure` writes it, and reports on recordings of this machine read
// it.
//
// No datasheet has these figures: they depend on the clock under load, on the cores that a
// container grants, and on the memory's modules. All usable cores compute at once. A bandwidth
// counts the bytes that are read and those that are written, as STREAM does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace redline::machine {

struct CpuPeaks {
  std::string host;
  std::string model;  ///< of the processor
  int cores = 0;      ///< that computed
  // 10^12 operations a second
  double fp32 = 0, fp64 = 0;
  /// nullopt: it has no units for it, or such that are not measured (AMX).
  std::optional<double> bf16;
  double gb_per_s = 0;
  int64_t measured_s = 0;  ///< unix time
};

[[nodiscard]] CpuPeaks measure_cpu_peaks();

/// "$XDG_DATA_HOME/redline/cpu-peaks.json", else in ~/.local/share; empty without a home.
[[nodiscard]] std::string cpu_peaks_file();

/// The error is what went wrong; empty if nothing did.
[[nodiscard]] std::string save_cpu_peaks(const CpuPeaks& peaks, const std::string& file);

/// nullopt if nothing was measured on this host with so many cores.
[[nodiscard]] std::optional<CpuPeaks> load_cpu_peaks(const std::string& file,
                                                     const std::string& host, int64_t cores);

}  // namespace redline::machine
