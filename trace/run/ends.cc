// Ranks that ended before their time. When one of them fails or dies, its launcher kills the
// others, or their collectives do. Only the first is worth a finding.
#include "trace/run/ends.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <string_view>

#include "base/text_search.h"
#include "trace/run/causes.h"

namespace redline::trace {
namespace {

/// What Gloo, NCCL and torch say to a rank whose partner has gone.
bool tells_of_lost_partner(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {
      "by peer",     "remote process exited", "Connection refused",        "Broken pipe",
      "Socket Time", "recvValue failed",      "Watchdog caught collective"};
  return contains_any(text, kWords);
}

struct Ending {
  const RankRun* rank = nullptr;
  const LogMark* exception = nullptr;

  [[nodiscard]] bool has_failed() const {
    return exception != nullptr || rank->exit_status.value_or(0) != 0;
  }
  /// Its partner was gone, or somebody told it to end (SIGTERM), as a launcher does.
  [[nodiscard]] bool follows_another() const {
    if (exception != nullptr) return tells_of_lost_partner(exception->text);
    return rank->exit_status == 128 + SIGTERM;
  }
  [[nodiscard]] int64_t time_ns() const {
    return exception != nullptr ? exception->time_ns : rank->last_sign_ns;
  }
};

/// nullopt if the rank runs or ended well.
std::optional<Ending> ending_of(const RankRun& rank, int64_t now_ns) {
  if (rank.ended ? rank.exit_status.value_or(0) == 0 : !rank.is_silent(now_ns)) {
    return std::nullopt;
  }
  Ending ending{.rank = &rank, .exception = nullptr};
  for (const LogMark& mark : rank.marks) {
    if (mark.kind != LogMarkKind::kException) continue;
    ending.exception = &mark;
    break;
  }
  return ending;
}

using Endings = std::vector<Ending>;

Endings drop_followers(Endings endings) {
  std::ranges::stable_sort(endings, {}, &Ending::time_ns);
  const bool is_known =
      std::ranges::any_of(endings, [](const Ending& ending) { return !ending.follows_another(); });
  if (is_known) std::erase_if(endings, [](const Ending& each) { return each.follows_another(); });
  const auto failure = std::ranges::find_if(endings, &Ending::has_failed);
  if (failure == endings.end()) return endings;
  // A rank that was killed because of the failure gave a sign of life a second before it.
  const int64_t failure_ns = failure->time_ns();
  std::erase_if(endings, [failure_ns](const Ending& ending) {
    return !ending.has_failed() && ending.time_ns() >= failure_ns - kBetweenSignsNs;
  });
  return endings;
}

/// By exit status. An exception that nobody catches ends Python with status 1, if no launcher is
/// faster.
std::map<int, RunFinding> failures_of(const Endings& endings) {
  std::map<int, RunFinding> failed;
  for (const Ending& ending : endings) {
    if (!ending.has_failed() || ending.rank->is_interrupted()) continue;
    const int status = ending.rank->exit_status.value_or(1);
    RunFinding& finding = failed[status];
    finding.cause = RunCause::kFailed;
    finding.exit_status = status;
    finding.ranks.push_back(ending.rank->rank);
    finding.from_step = std::max(finding.from_step, ending.rank->end_step);
    if (finding.text.empty() && ending.exception != nullptr) finding.text = ending.exception->text;
  }
  for (auto& [status, finding] : failed) std::ranges::sort(finding.ranks);
  return failed;
}

}  // namespace

std::vector<RunFinding> find_ends(const RankRuns& ranks, int64_t now_ns) {
  Endings endings;
  RunFinding out_of_memory;
  out_of_memory.cause = RunCause::kOutOfMemory;
  for (const RankRun& rank : ranks) {
    if (const auto ending = ending_of(rank, now_ns)) endings.push_back(*ending);
    const auto count = std::ranges::count(rank.marks, LogMarkKind::kOutOfMemory, &LogMark::kind);
    if (count > 0) out_of_memory.ranks.push_back(rank.rank);
    out_of_memory.count += count;
  }
  endings = drop_followers(std::move(endings));
  std::vector<RunFinding> findings;
  const auto first =
      std::ranges::find_if(endings, [](const Ending& ending) { return !ending.has_failed(); });
  if (first != endings.end()) {
    RunFinding died;
    died.cause = RunCause::kDied;
    died.from_step = first->rank->end_step;
    died.part = first->rank->last_part;
    int64_t last_step = died.from_step;
    for (const Ending& ending : endings) {
      // If one rank dies, a launcher ends the others, which therefore fall silent later.
      const bool is_first = ending.time_ns() - first->time_ns() <= kBetweenSignsNs;
      if (ending.has_failed() || !is_first) continue;
      died.ranks.push_back(ending.rank->rank);
      died.from_step = std::min(died.from_step, ending.rank->end_step);
      last_step = std::max(last_step, ending.rank->end_step);
      if (ending.rank->last_part != died.part) died.part = std::nullopt;
    }
    std::ranges::sort(died.ranks);
    if (last_step > died.from_step) died.to_step = last_step;
    findings.push_back(died);
  }
  const auto failed = failures_of(endings);
  for (const auto& [status, finding] : failed) findings.push_back(finding);
  if (out_of_memory.count > 0 && failed.empty()) {
    out_of_memory.has_ended = first != endings.end();
    if (out_of_memory.ranks.size() == ranks.size()) out_of_memory.ranks.clear();
    findings.push_back(out_of_memory);
  }
  return findings;
}

std::vector<int> take_back_deaths(RunVerdict& verdict) {
  const auto is_death = [](const RunFinding& each) { return each.cause == RunCause::kDied; };
  std::vector<int> ranks;
  if (std::erase_if(verdict.findings, is_death) == 0) return ranks;
  for (RunFinding& finding : verdict.findings) finding.has_ended = false;
  for (const RankRow& rank : verdict.ranks) {
    if (rank.age_ns > 0) ranks.push_back(rank.rank);
  }
  return ranks;
}

}  // namespace redline::trace
