#include "tuner/command/traces.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "profiler/request/recording_summary.h"
#include "trace/read/reader.h"
#include "trace/report/diff.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShownRows = 5;

/// Removes the traces of an earlier run with the same name, which would be taken for this run's.
void remove_traces(const std::string& folder) {
  const launch::TraceFiles old = launch::list_traces(folder);
  std::error_code ignored;
  for (const std::string& path : old.whole) fs::remove(path, ignored);
  for (const std::string& path : old.partial) fs::remove(path, ignored);
}

Result<std::string> record(const Config& config, const char* name, const Options& options,
                           const Share& share, const std::atomic<StopRequest>& stop) {
  TrialSpec spec = options.prototype();
  spec.config = config;
  spec.share = share;
  spec.directory = (fs::path(profile_folder(options.study)) / name).string();
  spec.record_to = spec.directory;
  remove_traces(spec.directory);
  const TrialResult result = run_trial(spec, stop, {});
  if (result.outcome == Outcome::kCancelled) return tl::unexpected(std::string("stopped"));
  if (!launch::list_traces(spec.directory).whole.empty()) return spec.directory;
  const std::string& why = result.notes.empty() ? result.message : result.notes.back();
  return tl::unexpected("--profile-best: " + why);
}

Result<std::string> diff_of(const std::string& before, const std::string& after) {
  const auto earlier = trace::read_traces({before});
  if (!earlier) return tl::unexpected(earlier.error().message);
  const auto later = trace::read_traces({after});
  if (!later) return tl::unexpected(later.error().message);
  const TextStyle plain{.colour = false, .utf8 = style_of(STDOUT_FILENO).utf8};
  return trace::diff_text(trace::compare_runs(*earlier, *later), plain, {kShownRows});
}

}  // namespace

std::string profile_folder(const std::string& study) {
  return fs::path(study).replace_extension(".profile").string();
}

Result<BestProfile> profile_best(const History& history, const Best& best, const Options& options,
                                 const Share& share, const std::atomic<StopRequest>& stop,
                                 const std::function<void(const std::string&)>& say) {
  BestProfile profile;
  const auto add = [&](const Config& config, const char* name, std::string& folder) {
    say(fmt::format("recording the {}: {}\n", name, config_text(history.effective(config), ", ")));
    Result<std::string> recorded = record(config, name, options, share, stop);
    if (recorded) folder = *recorded;
    return recorded;
  };
  if (!best.is_default && best.default_estimate) {
    const Config first = history.first_config();
    const auto before = add(first, "default", profile.default_folder);
    if (!before) return tl::unexpected(before.error());
  }
  if (const auto after = add(best.config, "best", profile.best_folder); !after) {
    return tl::unexpected(after.error());
  }
  if (profile.default_folder.empty()) return profile;
  const Result<std::string> diff = diff_of(profile.default_folder, profile.best_folder);
  if (!diff) return tl::unexpected(diff.error());
  profile.diff = *diff;
  return profile;
}

}  // namespace redline::tuner
