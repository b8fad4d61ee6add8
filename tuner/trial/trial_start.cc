#include "tuner/trial/trial_start.h"

#include "tuner/space/config.h"
#include "tuner/space/ranks.h"
#include "tuner/trial/trial_environment.h"

namespace redline::tuner {
namespace {

namespace fs = std::filesystem;

/// What recording takes beside a --memory-limit on the data of a process: that of the trial alone
/// is what the user limits.
constexpr uint64_t kRecorderRoom = uint64_t{512} << 20;

tl::expected<void, std::string> add_recording(const std::string& folder,
                                              const launch::RecordNotes& notes,
                                              launch::Environment& variables) {
  const launch::RecordRequest request{
      .directory = fs::absolute(folder).string(),
      .schedule = {.skip_first = 0, .wait = 2, .warmup = 1, .active = 5, .repeat = 1},
      .sources = {},
      .ranks = {},
      .step_marker = {}};
  variables.set("REDLINE_NOTES", notes.path());
  return launch::add_record_request(request, variables);
}

std::optional<uint64_t> data_limit(const TrialSpec& spec, const launch::Environment& variables) {
  if (!spec.memory_limit_bytes || sees_gpu(variables)) return std::nullopt;
  return *spec.memory_limit_bytes + (spec.record_to.empty() ? 0 : kRecorderRoom);
}

}  // namespace

void TrialPaths::remove() const {
  std::error_code ignored;
  fs::remove_all(temporary(), ignored);
  fs::remove(reports(), ignored);
  fs::remove_all(reports() + ".d", ignored);
}

tl::expected<TrialStart, std::string> prepare_start(
    const TrialSpec& spec, const TrialPaths& paths, const std::string& mark,
    const std::optional<SlurmStep>& step, const std::optional<launch::RecordNotes>& notes) {
  std::set<std::string> used;
  StartOptions options;
  for (const std::string& word : spec.command) {
    options.argv.push_back(fill_placeholders(word, spec.config, &used));
  }
  launch::Environment variables =
      trial_environment({spec.config, std::move(used), paths.reports(), paths.temporary(),
                         paths.directory.string(), mark, spec.memory_limit_bytes});
  restrict_to(spec.share, ranks_of(spec.command, 1).value_or(1), variables);
  if (notes) {
    if (auto added = add_recording(spec.record_to, *notes, variables); !added) {
      return tl::unexpected(added.error());
    }
  }
  options.environment = variables.strings();
  if (step) options.argv = step->named(std::move(options.argv));
  options.stdout_path = paths.output();
  options.stderr_path = paths.errors();
  options.data_limit_bytes = data_limit(spec, variables);
  options.cores = spec.share.cores;
  options.mark = mark;
  return TrialStart{std::move(options), std::move(variables)};
}

}  // namespace redline::tuner
