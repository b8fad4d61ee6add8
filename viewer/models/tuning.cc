#include "viewer/models/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/format.h"
#include "tuner/show/study_texts.h"
#include "tuner/study/best_config.h"
#include "tuner/study/study.h"
#include "tuner/study/study_figures.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;
using tuner::FinishedTrial;
using tuner::History;
using tuner::TrialMark;

constexpr size_t kShownValues = 6;
constexpr int kTraceDepth = 2;  // folders below a trial's own

ChartPoint point_of(const TrialMark& mark) {
  return {mark.x,    mark.rate, mark.is_best, mark.trial,
          mark.hint, mark.low,  mark.high,    mark.is_disturbed};
}

// Says what a hollow point means, if there is one.
void explain_hollow(Chart& chart) {
  for (size_t i = 0; i < chart.point_count(); ++i) {
    if (!chart.point(i).is_hollow) continue;
    chart.x_title += " (hollow: disturbed, may be faster)";
    return;
  }
}

Chart batch_chart(const History& history) {
  const bool energy = history.objective() == tuner::Objective::kSamplesPerJoule;
  Chart chart{energy ? "Samples/J by batch size" : "Throughput by batch size",
              "batch size of a rank",
              true,
              {}};
  for (const tuner::BatchSeries& series : tuner::batch_series(history)) {
    ChartSeries shown{series.name, {}, false, series.frontier.middle()};
    for (const TrialMark& mark : series.marks) shown.points.push_back(point_of(mark));
    chart.series.push_back(std::move(shown));
  }
  explain_hollow(chart);
  return chart;
}

Chart convergence_chart(const History& history) {
  Chart chart{"Search: each trial, and the best so far", "trial", false, {}};
  ChartSeries series{"best so far", {}, true, {}};
  for (const TrialMark& mark : tuner::convergence(history)) series.points.push_back(point_of(mark));
  chart.series.push_back(std::move(series));
  explain_hollow(chart);
  return chart;
}

std::vector<KnobShare> knob_shares(const History& history, const tuner::Space& space) {
  std::vector<KnobShare> shares;
  for (const tuner::KnobEffect& effect : tuner::knob_effects(history, space)) {
    KnobShare share{effect.knob, effect.at_stake(), {}};
    for (size_t i = 0; i < std::min(effect.rate_by_value.size(), kShownValues); ++i) {
      const auto& [value, rate] = effect.rate_by_value[i];
      share.values += fmt::format("{}{}: {}", i ? " · " : "", value,
                                  rate > 0 ? format_number(rate) : "does not run");
    }
    if (effect.rate_by_value.size() > kShownValues) share.values += " …";
    shares.push_back(std::move(share));
  }
  return shares;
}

TableValue knob_value(const tuner::Config& config, const std::string& knob) {
  const auto found = config.find(knob);
  if (found == config.end()) return {};
  const auto number = parse_integer(found->second);
  return number ? TableValue(*number) : TableValue(found->second);
}

std::vector<std::string> knob_names(const tuner::Space& space) {
  std::vector<std::string> names;
  for (const tuner::Knob& knob : space.knobs) names.push_back(knob.name);
  if (space.samples_a_step) names.emplace_back("accumulation");
  return names;
}

// A range of integers is sorted and shown as numbers; choices are words.
Unit unit_of(const tuner::Space& space, const std::string& name) {
  const tuner::Knob* knob = space.find(name);
  return !knob || knob->is_numeric() ? Unit::kCount : Unit::kText;
}

TableRow trial_row(const FinishedTrial& trial, const History& history,
                   const std::vector<std::string>& knobs, bool has_trace) {
  const tuner::TrialResult& result = trial.result;
  const tuner::Config all = history.effective(trial.config);
  TableRow row{{trial.id}, {}, std::to_string(trial.id)};
  for (const std::string& knob : knobs) row.values.push_back(knob_value(all, knob));
  row.values.push_back(trial.ok() ? TableValue(result.throughput->samples_per_s) : TableValue());
  row.values.emplace_back(result.joules_per_sample);
  row.values.push_back(result.peak_memory_bytes
                           ? TableValue(static_cast<int64_t>(*result.peak_memory_bytes))
                           : TableValue());
  row.values.emplace_back(result.data_wait_share);
  row.values.emplace_back(int64_t{result.wall.count()});
  row.values.emplace_back(trial.why);
  row.values.emplace_back(result.disturbance);
  row.values.emplace_back(has_trace ? TableValue(std::string("yes")) : TableValue());
  row.values.emplace_back(trial.ok() ? std::string("ok") : result.message);
  return row;
}

const char* rate_name(const History& history) {
  switch (history.rate()) {
    case tuner::Objective::kMetric:
      return "By --metric";
    case tuner::Objective::kStepsPerSecond:
      return "Steps/s";
    default:
      return "Samples/s";
  }
}

Table trial_table(const tuner::StudyContent& study, const History& history,
                  const std::vector<TrialDetails>& details) {
  const std::vector<std::string> knobs = knob_names(study.space);
  Table table{"Trials", {{"Trial", Unit::kCount}}, {}};
  for (const std::string& knob : knobs) table.columns.push_back({knob, unit_of(study.space, knob)});
  table.columns.insert(table.columns.end(), {{rate_name(history), Unit::kRate},
                                             {"J a sample", Unit::kRate},
                                             {"Memory", Unit::kBytes},
                                             {"Data wait", Unit::kShare},
                                             {"Took", Unit::kDuration},
                                             {"Why", Unit::kText},
                                             {"Disturbed by", Unit::kText},
                                             {"Trace", Unit::kText},
                                             {"Ended", Unit::kText}});
  for (size_t i = 0; i < study.trials.size(); ++i) {
    table.rows.push_back(trial_row(study.trials[i], history, knobs, !details[i].traces.empty()));
  }
  drop_columns(table, [&table](size_t column) { return !has_values(table, column); });
  return table;
}

bool is_trace_name(const std::string& name) {
  constexpr std::string_view kEndings[] = {".json", ".json.gz", ".json.zst", ".json.partial"};
  const bool is_trace =
      std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
  return is_trace && name.find("trace") != std::string::npos;
}

std::vector<std::string> traces_in(const fs::path& folder) {
  std::vector<std::string> traces;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry.depth() >= kTraceDepth) entry.disable_recursion_pending();
    if (entry->is_regular_file(ignored) && is_trace_name(entry->path().filename().string())) {
      traces.push_back(entry->path().string());
    }
  }
  std::ranges::sort(traces);
  return traces;
}

std::vector<TrialDetails> trial_details(const tuner::StudyContent& study) {
  std::vector<TrialDetails> details;
  for (const FinishedTrial& trial : study.trials) {
    details.push_back({trial.id, tuner::trial_text(study, trial.id).value_or(std::string()),
                       traces_in(fs::path(study.trials_directory) / std::to_string(trial.id))});
  }
  return details;
}

// Why the winner's rate is not that of the highest point: a trial that ran once may have been
// lucky.
std::string confirmation(const tuner::Best& best, const History& history) {
  if (best.estimate.runs < 2) return "";
  const FinishedTrial* fastest = nullptr;
  for (const FinishedTrial& trial : history.trials()) {
    if (!trial.ok()) continue;
    if (!fastest || trial.score().samples_per_s > fastest->score().samples_per_s) fastest = &trial;
  }
  std::string text = fmt::format("mean of its {} runs", best.estimate.runs);
  if (fastest && fastest->score().samples_per_s > best.estimate.score.samples_per_s) {
    text += fmt::format("; the fastest single run, trial {}, had {}", fastest->id,
                        format_number(fastest->score().samples_per_s));
  }
  return text;
}

void add_verdict(Tuning& tuning, const tuner::StudyContent& study, const History& history) {
  const auto best = tuner::find_best(history);
  if (!study.trials.empty()) tuning.default_trial = study.trials.front().id;
  if (!best) {
    tuning.verdict = study.trials.empty() ? "No trial has ended yet" : "No trial succeeded";
    return;
  }
  const tuner::Throughput& rate = best->estimate.score;
  tuning.rate = format_number(rate.samples_per_s) + " " + tuner::unit_of(history.objective());
  tuning.spread =
      best->has_interval() ? fmt::format("{}, 95 %", tuner::interval_text(rate)) : "one run";
  const std::string confirmed = confirmation(*best, history);
  if (!confirmed.empty()) tuning.spread += ", " + confirmed;
  tuning.verdict = typeset(tuner::verdict_text(*best));
  tuning.knobs = tuner::config_text(best->effective, " · ");
  tuning.notes = tuner::step_samples_text(*best, "") + tuner::tokens_text(*best, "") +
                 tuner::energy_text(*best, "");
  if (!tuning.notes.empty()) tuning.notes.pop_back();  // the end of the last line
  tuner::StudyTerms terms;
  terms.study = study.path;
  terms.command = study.identity.command;
  terms.environment = study.identity.environment;
  terms.output = fs::path(study.path).replace_filename("best.json").string();
  tuner::forget_another_output(terms, best);
  tuning.command = tuner::run_text(terms);
  tuning.best_trial = history.runs_of(best->config).front()->id;
}

std::string figures_of(const tuner::StudyContent& study, const History& history) {
  std::chrono::nanoseconds used{0};
  for (const FinishedTrial& trial : study.trials) used += trial.result.wall;
  std::string text =
      fmt::format("{} · {} out of memory · {}", format_plural(std::ssize(study.trials), "trial"),
                  history.out_of_memory_count(), format_wait(used));
  if (study.interrupted > 0) text += fmt::format(" · {} interrupted", study.interrupted);
  return text;
}

}  // namespace

const TrialDetails* Tuning::find(int64_t trial) const {
  const auto found = std::ranges::find(details, trial, &TrialDetails::id);
  return found == details.end() ? nullptr : &*found;
}

bool is_study(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(kMagic.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head == kMagic || (fs::path(path).extension() == ".db" && kMagic.starts_with(head));
}

tl::expected<Tuning, std::string> load_tuning(const std::string& path) {
  const auto study = tuner::read_study(path);
  if (!study) return tl::unexpected(study.error());
  const History history = study->history();
  Tuning tuning;
  tuning.path = path;
  tuning.details = trial_details(*study);
  add_verdict(tuning, *study, history);
  tuning.figures = figures_of(*study, history);
  tuning.batches = batch_chart(history);
  tuning.convergence = convergence_chart(history);
  tuning.knob_shares = knob_shares(history, study->space);
  tuning.trials = trial_table(*study, history, tuning.details);
  return tuning;
}

}  // namespace redline::viewer
