#include "tuner/show/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tuner/space/hook_knobs.h"

#include "base/format.h"
#include "base/secrets.h"

namespace redline::tuner {
namespace {

constexpr size_t kNumberWidth = 2;
constexpr size_t kKnobWidth = 8;
constexpr size_t kRateWidth = 16;
constexpr size_t kMemoryWidth = 10;
constexpr size_t kLeastVerdict = 10;

std::string short_title(const std::string& name) {
  const HookKnob* hook = find_hook_knob(name);
  return hook ? std::string(hook->title) : name.substr(0, 8);
}

/// Whether some of the values are the same once they are cut to the width of a column.
bool are_cut_alike(const std::vector<std::string>& values) {
  std::set<std::string> cut;
  for (const std::string& value : values) cut.insert(elide(value, kKnobWidth));
  return cut.size() < values.size();
}

/// What all values begin with; of each at least one character is left.
std::string common_beginning(const std::vector<std::string>& values) {
  const std::string& first = values.front();
  size_t size = first.size();
  for (const std::string& value : values) {
    const auto end = std::ranges::mismatch(first, value).in1 - first.begin();
    size = std::min({size, static_cast<size_t>(end), value.size() - 1});
  }
  while (size > 0 && continues_letter(first[size])) --size;
  return first.substr(0, size);
}

/// Joins the parts and wraps them into lines. All lines but the first begin with `indent`; the
/// caller indents the first.
std::string join_wrapped(const std::vector<std::string>& parts, const std::string& separator,
                         const std::string& indent) {
  return joined(wrapped(parts, separator, kTerminalColumns - indent.size()), "\n" + indent);
}

/// The id is never cut, because people ask for a trial by it.
std::string id_text(int64_t id) {
  const std::string text = std::to_string(id);
  return text.size() > kNumberWidth ? text : std::string(kNumberWidth - text.size(), ' ') + text;
}

std::string objective_text(const StudyTerms& terms) {
  if (!terms.metric_regex.empty()) return terms.metric_regex;
  const bool by_time = terms.objective != Objective::kSamplesPerJoule;
  return std::string(unit_of(terms.objective)) + (by_time ? ", end to end" : ", of all GPUs");
}

std::string compiled_text(std::chrono::nanoseconds time) {
  return fmt::format("compiled {} s", std::chrono::round<std::chrono::seconds>(time).count());
}

/// "amp, batch: compute limits" of a reason such as "compute limits: amp bf16, batch_size 64". The
/// values are in the columns, and a narrow table cuts the end of a line.
std::string knobs_and_reason(const std::string& why) {
  const size_t colon = why.find(": ");
  if (colon == std::string::npos) return why;
  std::string knobs;
  for (size_t at = colon + 2;;) {
    knobs += (knobs.empty() ? "" : ", ") + short_title(why.substr(at, why.find(' ', at) - at));
    at = why.find(", ", at);
    if (at == std::string::npos) break;
    at += 2;
  }
  return knobs + ": " + why.substr(0, colon);
}

/// How many trials `words_of` says something about. Only the last of them is quoted, because what
/// ails one trial mostly ails its neighbours too.
template <class Words>
std::string counted_line(const History& history, const char* what, Words words_of) {
  int64_t count = 0;
  std::string last;
  for (const FinishedTrial& trial : history.trials()) {
    std::string words = words_of(trial);
    if (words.empty()) continue;
    ++count;
    last = std::move(words);
  }
  if (count == 0) return "";
  const std::string text = fmt::format("{} {}: {}", format_plural(count, "trial"), what, last);
  return joined(wrapped(text, kTerminalColumns - 2), "\n  ") + "\n";
}

std::string disturbance_of(const FinishedTrial& trial) { return trial.result.disturbance; }

/// Why a trial told nothing of its configuration. Those out of memory are counted apart.
std::string failure_of(const FinishedTrial& trial) {
  const bool is_failure =
      !trial.ok() && !trial.out_of_memory() && trial.result.outcome != Outcome::kCancelled;
  return is_failure ? why_it_ended(trial.result) : "";
}

}  // namespace

std::string why_it_ended(const TrialResult& result) {
  return result.message.empty() ? to_string(result.outcome) : result.message;
}

Table::Table(const Space& space, TextStyle style, Objective objective, bool whole)
    : space_(space), style_(style), objective_(objective), whole_(whole) {}

std::string Table::Column::cell(const std::string& value) const {
  const bool is_shorter = !beginning.empty() && value.starts_with(beginning);
  return is_shorter ? "…" + value.substr(beginning.size()) : value;
}

/// As wide as the widest of the title and the values, but for a terminal at most 8. There values
/// that would look the same lose what they begin with.
Table::Column Table::column_of(const Knob& knob) const {
  Column column{.knob = knob.name, .title = short_title(knob.name), .beginning = {}, .width = 0};
  const auto values = knob.is_range()
                          ? std::vector{std::to_string(knob.low), std::to_string(knob.high)}
                          : knob.values;
  if (!whole_ && are_cut_alike(values)) column.beginning = common_beginning(values);
  column.width = column.title.size();
  for (const std::string& value : values) {
    column.width = std::max(column.width, columns(column.cell(value)));
  }
  if (!whole_) column.width = std::min(column.width, kKnobWidth);
  return column;
}

std::vector<Table::Column> Table::shown_columns() const {
  std::vector<Column> result;
  size_t used = kNumberWidth + 2 + kRateWidth + 2 + kMemoryWidth + 2 + kLeastVerdict;
  for (const Knob& knob : space_.knobs) {
    Column column = column_of(knob);
    used += std::min(column.width, kKnobWidth) + 1;
    if (used > kTerminalColumns) break;
    result.push_back(std::move(column));
  }
  return result;
}

std::string Table::head(const StudyTerms& terms) const {
  std::vector<std::string> parts = {"autotune", "objective " + objective_text(terms),
                                    "budget " + format_wait(terms.budget.time)};
  if (terms.budget.max_trials > 0) {
    parts.push_back("at most " + format_plural(terms.budget.max_trials, "trial"));
  }
  if (terms.global_batch) parts.push_back(fmt::format("global batch {}", *terms.global_batch));
  if (terms.memory_limit_bytes) {
    parts.push_back("memory limit " + format_bytes(*terms.memory_limit_bytes));
  }
  std::vector<std::string> knobs;
  for (const Knob& knob : space_.knobs) {
    std::string values = knob.text();
    std::ranges::replace(values, ',', '|');
    knobs.push_back(knob.name + " " + values);
  }
  std::string text = join_wrapped(parts, style_.shown(" · "), "  ") + "\n";
  text += "space: " + join_wrapped(knobs, ", ", "       ") + "\n";
  for (const std::string& sentence : space_.left_out) text += "       (" + sentence + ")\n";
  return text;
}

std::string Table::column_names() const {
  std::string text = style_.right("#", kNumberWidth) + " ";
  for (const Column& column : shown_columns())
    text += " " + style_.right(column.title, column.width);
  text += " " + style_.right(unit_of(objective_), kRateWidth) + "  " +
          style_.right("memory", kMemoryWidth) + "  ended";
  return style_.painted(text, Hue::kBold) + "\n";
}

std::string Table::verdict(const History& history) const {
  const FinishedTrial& trial = history.trials().back();
  if (!trial.ok()) return why_it_ended(trial.result);
  const auto best = std::ranges::max_element(history.trials(), {}, [](const FinishedTrial& each) {
    return each.ok() ? each.score().samples_per_s : 0;
  });
  std::string text = trial.why == kConfirm          ? "confirming"
                     : history.trials().size() == 1 ? space_.first.empty() ? "default" : "first"
                     : &*best == &trial             ? "best so far"
                     : trial.result.message.empty() ? ""
                                                    : "stopped early";
  if (text.empty() && trial.why.starts_with("once more")) {
    text = trial.why == kOnceMore ? "once more" : trial.why;
  }
  if (text.empty() && trial.result.expected) text = knobs_and_reason(trial.why);
  if (const auto& latency = trial.result.latency; latency && latency->p99_ns) {
    text += (text.empty() ? "p99 " : ", p99 ") + format_ns(*latency->p99_ns);
  }
  if (trial.result.compile_time >= std::chrono::seconds(1)) {
    text += (text.empty() ? "" : ", ") + compiled_text(trial.result.compile_time);
  }
  if (!trial.result.disturbance.empty()) text += text.empty() ? "disturbed" : ", disturbed";
  return text;
}

std::string Table::line(const History& history) const {
  const FinishedTrial& trial = history.trials().back();
  const Config config = history.effective(trial.config);
  std::string text = id_text(trial.id) + " ";
  for (const Column& column : shown_columns()) {
    const auto found = config.find(column.knob);
    const std::string value = found == config.end() ? "-" : column.cell(found->second);
    text += " " + style_.right(value, column.width);
  }
  std::string rate = "-";
  if (trial.ok()) {
    const Throughput& throughput = trial.score();
    rate = format_number(throughput.samples_per_s);
    if (throughput.high > throughput.low) {
      rate += fmt::format(
          " {} {}", style_.shown("±"),
          format_number_like((throughput.high - throughput.low) / 2, throughput.samples_per_s));
    }
  }
  const auto& peak = trial.result.peak_memory_bytes;
  text += " " + style_.right(rate, kRateWidth) + "  " +
          style_.right(peak ? format_bytes(*peak) : "-", kMemoryWidth);
  text += "  ";
  std::string ended = verdict(history);
  const size_t room = kTerminalColumns - std::min(kTerminalColumns, columns(text));
  if (trial.ok() && trial.result.expected) {
    const std::string expected =
        "expected " + format_number(trial.result.expected->score.samples_per_s);
    const std::string both = ended + (ended.empty() ? "" : ", ") + expected;
    if (columns(both) <= room) ended = both;
  }
  text += elide(style_.shown(ended), whole_ ? std::string::npos : room, style_.shown("…"));
  while (text.ends_with(' ')) text.pop_back();
  return text + "\n";
}

void forget_another_output(StudyTerms& terms, const std::optional<Best>& best) {
  const auto written = read_config(terms.output);
  if (best && written && written->knobs == best->config &&
      written->command == without_secrets(terms.command)) {
    return;
  }
  terms.output.clear();
}

std::string assignments_text(const Config& environment) {
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + format_command({value}) + " ";
  return text;
}

std::string run_text(const StudyTerms& terms) {
  if (terms.output.empty()) {
    return fmt::format("sh -c \"$(autotune apply {})\"", format_command({terms.study}));
  }
  Config environment = terms.environment;
  for (auto& [name, value] : environment) value = without_secrets(value);
  return fmt::format("{}redline run --config {} -- {}", assignments_text(environment),
                     format_command({terms.output}),
                     format_command(without_secrets(terms.command)));
}

std::string Table::best_lines(const Best& best, const StudyTerms& terms) const {
  const Throughput& rate = best.estimate.score;
  std::string text = style_.painted(
      fmt::format("BEST  {} {}", format_number(rate.samples_per_s), unit_of(objective_)),
      Hue::kBold);
  text += best.has_interval() ? fmt::format(" ({}, 95 %)", interval_text(rate)) : " (one run)";
  text += (best.is_default ? "  " : "\n      ") + verdict_text(best) + "\n";
  std::vector<std::string> parts;
  for (const auto& [name, value] : best.effective) parts.push_back(name + " " + value);
  if (best.peak_memory_bytes) {
    std::string memory = "memory " + format_bytes(*best.peak_memory_bytes);
    const auto& limit =
        terms.memory_limit_bytes ? terms.memory_limit_bytes : best.memory_capacity_bytes;
    if (limit) memory += " of " + format_bytes(*limit);
    parts.push_back(memory);
  }
  if (!parts.empty()) {
    text += "      " + join_wrapped(parts, style_.shown(" · "), "      ") + "\n";
  }
  if (best.latency) text += "      a batch: " + latency_text(*best.latency) + "\n";
  if (best.compilation) {
    text += "      " + compiled_text(best.compilation->time);
    if (best.compilation->pays_after_steps) {
      text += ": pays after " + format_plural(*best.compilation->pays_after_steps, "step");
    }
    text += "\n";
  }
  text += step_samples_text(best, "      ");
  text += tokens_text(best, "      ");
  text += energy_text(best, "      ");
  text += epoch_cost_text(best, terms.cost_per_hour, "      ");
  return text + "run it:  " + run_text(terms) + "\n";
}

std::string Table::profile_lines(const BestProfile& profile) const {
  if (profile.diff.empty()) {
    return fmt::format("recorded: {} (no other run to compare it with)\n", profile.best_folder);
  }
  const std::string command =
      "redline diff " + format_command({profile.default_folder, profile.best_folder});
  return "\n" + style_.painted(command, Hue::kBold) + "\n" + profile.diff + "\n";
}

std::string Table::summary(const History& history, const std::optional<Best>& best,
                           const StudyTerms& terms) const {
  const std::chrono::nanoseconds used = history.time_used();
  std::vector<std::string> parts = {format_plural(std::ssize(history.trials()), "trial")};
  if (const int64_t count = history.out_of_memory_count()) {
    parts.push_back(fmt::format("{} out of memory", count));
  }
  const int ranks = history.empty() ? 0 : history.first_to_run().ranks;
  if (ranks > 0) parts.push_back(format_plural(ranks, "rank"));
  parts.push_back(format_wait(used));
  std::string text = join_wrapped(parts, style_.shown(" · "), "") + "\n";
  text += counted_line(history, "disturbed", disturbance_of);
  if (best) text += counted_line(history, "failed", failure_of);
  if (!terms.why_ended.empty())
    text += joined(wrapped(terms.why_ended, kTerminalColumns), "\n") + "\n";
  if (best) text += "\n" + best_lines(*best, terms);
  if (best && best->profile) text += profile_lines(*best->profile);
  return text;
}

}  // namespace redline::tuner
