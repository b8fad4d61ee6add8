// The options that several subcommands have.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"
#include "trace/analysis/device_peaks.h"
#include "trace/run/gate.h"
#include "watch/hang_watch.h"

namespace redline::cli {

/// Of `diff` and `compare`: a change is surely beyond a limit, or it is too early to tell.
constexpr int kBeyond = 3;
constexpr int kCannotTell = 4;

/// -o, for a command that else writes to standard output.
void add_output_option(CLI::App& command, std::string& output);
/// CMD, the command and its arguments; what follows its name is the command's.
void add_command_words(CLI::App& command, std::vector<std::string>& words);

/// Reads "500ms", "30s", "2m" and "30" as seconds.
[[nodiscard]] CLI::Validator as_seconds();
/// Reads "500MB", "1.5GiB" and "4096" as bytes.
[[nodiscard]] CLI::Validator as_bytes();

/// What `record --ring` and `run --log` do about a job that hangs.
struct HangOptions {
  double after = 5;  ///< seconds
  std::string action;
};
/// The first of `actions`, of report, trace and abort, is the default.
void add_hang_options(CLI::App& command, HangOptions& options, std::vector<std::string> actions,
                      const std::string& needed);
/// Lets the ranks say where they are, and watches them. nullptr if that is not wanted.
[[nodiscard]] tl::expected<std::unique_ptr<watch::HangWatch>, std::string> watch_for_hangs(
    const HangOptions& options, const std::string& folder, launch::Environment& environment);

/// --peak-tflops and --peak-gbs.
void add_peak_options(CLI::App& command, trace::GivenPeaks& peaks);

/// --peak-link-gbs.
void add_link_option(CLI::App& command, trace::GivenPeaks& peaks);

/// The options that give these peaks to another command.
[[nodiscard]] std::vector<std::string> peak_options(const trace::GivenPeaks& peaks);

/// What `diff` and `compare` do about a change.
struct GateOptions {
  trace::GateLimits limits;
  bool lenient = false;
};
void add_gate_options(CLI::App& command, GateOptions& options);
/// The exit status that a verdict means.
[[nodiscard]] int status_of(trace::GateOutcome outcome, const GateOptions& options);

}  // namespace redline::cli
