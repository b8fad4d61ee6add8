#include "base/format.h"
#include "tuner/show/study_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "trace/report/html.h"
#include "tuner/study/study_figures.h"

namespace redline::trace {
const char* page_style();  // compiled in; the report's page has the same style
}

namespace redline::tuner {
namespace {

using trace::html::escape;

constexpr size_t kShownValues = 6;
constexpr const char* kStyle = R"(
.chart { width: 100%; height: auto; font-size: 11px; }
.chart text { fill: var(--dim); }
.chart .grid { stroke: var(--line); }
.chart polyline { fill: none; stroke-width: 1.8; }
.chart .frontier { stroke-dasharray: 3 4; opacity: 0.7; }
.chart .roof { stroke-dasharray: 6 4; }
.chart .failed { fill: none; stroke: var(--dataloader); stroke-width: 2; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; }
.key { display: flex; gap: 6px; align-items: center; }
.scroll table { width: 100%; border-collapse: collapse; }
.scroll th, .scroll td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: left; }
.scroll .number { text-align: right; }
@media (max-width: 860px) { .words { min-width: 26em; } }
.command { white-space: pre-wrap; overflow-wrap: anywhere; }
tr.best { font-weight: 600; }
pre { margin: 8px 0 0; padding: 8px; border-radius: 4px; background: var(--hover); overflow-x: auto; }
)";

std::string card(const std::string& title, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<section class=card><h2>{}</h2>{}</section>\n", title, body);
}

std::string verdict_card(const std::optional<Best>& best, const StudyTerms& terms,
                         const char* unit) {
  if (!best) return card("No trial succeeded", "<p>The table below says why.</p>");
  const Throughput& rate = best->estimate.score;
  std::string text =
      fmt::format("<div class=step><b>{} {}</b><span class=dim>{}</span></div>",
                  format_number(rate.samples_per_s), unit,
                  best->has_interval() ? fmt::format("{}, 95 %", interval_text(rate)) : "one run");
  text += "<p>" + verdict_text(*best) + "</p>";
  for (const std::string& line :
       {step_samples_text(*best, ""), tokens_text(*best, ""), energy_text(*best, "")}) {
    if (!line.empty()) text += "<p>" + line + "</p>";
  }
  text += "<p>" + escape(config_text(best->effective, " · ")) + "</p>";
  text += "<pre class=command>" + escape(run_text(terms)) + "</pre>";
  return card("Best", text);
}

std::string profile_card(const BestProfile& profile) {
  if (profile.diff.empty()) {
    return card("Recorded", "<p><code>" + escape(profile.best_folder) + "</code></p>");
  }
  const std::string command =
      "redline diff " + format_command({profile.default_folder, profile.best_folder});
  std::string lines = escape(command) + "\n\n";
  std::istringstream diff(profile.diff);
  for (std::string line; std::getline(diff, line);) lines += escape(line) + "\n";
  return card("The default against the best", "<pre>" + lines + "</pre>");
}

std::string effect_rows(const std::vector<KnobEffect>& effects, const char* unit) {
  std::string rows;
  for (const KnobEffect& effect : effects) {
    std::string values;
    for (size_t i = 0; i < std::min(effect.rate_by_value.size(), kShownValues); ++i) {
      const auto& [value, rate] = effect.rate_by_value[i];
      values += fmt::format("{}<code>{}</code> {}", i == 0 ? "" : " · ", escape(value),
                            rate > 0 ? format_number(rate) : "does not run");
    }
    if (effect.rate_by_value.size() > kShownValues) values += " …";
    rows += fmt::format("<tr><td>{}</td><td class=number>{:.0f} %</td><td>{}</td></tr>",
                        escape(effect.knob), 100 * effect.at_stake(), values);
  }
  if (rows.empty()) return "";
  return "<p class=dim>Trials that differ in this knob alone. At stake: by how much the worst "
         "value "
         "that runs is slower than the best.</p>"
         "<div class=scroll><table><tr><th>knob</th><th class=number>at stake</th>"
         "<th>" +
         std::string(unit) + " by value</th></tr>" + rows + "</table></div>";
}

std::string trial_rows(const History& history, const Space& space,
                       const std::optional<Best>& best) {
  std::string head = "<tr><th class=number>#</th>";
  for (const Knob& knob : space.knobs) head += "<th>" + escape(knob.name) + "</th>";
  if (space.samples_a_step) head += "<th>accumulation</th>";
  const bool metered = std::ranges::any_of(history.trials(), [](const FinishedTrial& trial) {
    return trial.result.joules_per_sample.has_value();
  });
  head += fmt::format("<th class=number>{}</th>", unit_of(history.objective()));
  head += "<th class=number>expected</th>";
  if (metered) head += "<th class=number>J a sample</th>";
  const bool infers = std::ranges::any_of(history.trials(), [](const FinishedTrial& trial) {
    return trial.result.latency.has_value();
  });
  if (infers) head += "<th class=number>a batch</th>";
  head +=
      "<th class=number>memory</th><th class=number>expected</th><th class=number>data wait</th>"
      "<th class=number>took</th><th>why</th><th>ended</th></tr>";
  std::string rows;
  for (const FinishedTrial& trial : history.trials()) {
    const Config all = history.effective(trial.config);
    const auto cell = [&](const std::string& name) {
      const auto found = all.find(name);
      return "<td>" + (found == all.end() ? "–" : escape(found->second)) + "</td>";
    };
    const TrialResult& result = trial.result;
    rows += fmt::format(
        "<tr{}><td class=number>{}</td>",
        best && history.canonical(trial.config) == best->config ? " class=best" : "", trial.id);
    for (const Knob& knob : space.knobs) rows += cell(knob.name);
    if (space.samples_a_step) rows += cell("accumulation");
    const auto number = [&rows](const std::string& text) {
      rows += "<td class=number>" + text + "</td>";
    };
    number(trial.ok() ? format_number(trial.score().samples_per_s) : "–");
    const auto& expected = result.expected;
    number(expected ? interval_text(expected->score) : "–");
    if (metered) {
      number(result.joules_per_sample ? format_number(*result.joules_per_sample) : "–");
    }
    if (infers) number(result.latency ? latency_text(*result.latency) : "–");
    rows += fmt::format(
        "<td class=number>{}</td><td class=number>{}</td><td class=number>{}</td>"
        "<td class=number>{}</td><td class=words>{}</td><td class=words title=\"{}\">{}</td></tr>",
        result.peak_memory_bytes ? format_bytes(*result.peak_memory_bytes) : "–",
        expected && expected->peak_memory_bytes ? format_bytes(*expected->peak_memory_bytes) : "–",
        result.data_wait_share ? fmt::format("{:.0f} %", 100 * *result.data_wait_share) : "–",
        format_wait(result.wall), escape(trial.why), escape(result.stderr_tail),
        escape(trial.ok() ? "ok" : why_it_ended(result)));
  }
  return "<div class=scroll><table>" + head + rows + "</table></div>";
}

}  // namespace

std::string study_page(const History& history, const Space& space, const std::optional<Best>& best,
                       const StudyTerms& terms) {
  const std::chrono::nanoseconds used = history.time_used();
  const int64_t failed = history.out_of_memory_count();
  const char* const unit = unit_of(history.objective());
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\"><title>{0} – autotune</title>\n<style>{1}{2}</style>\n<main>"
      "<div class=top><h1>{0}</h1><span class=dim>{3} · {4} out of memory · "
      "{5}</span></div>\n",
      escape(terms.study), trace::page_style(), kStyle,
      format_plural(std::ssize(history.trials()), "trial"), failed, format_wait(used));
  if (!terms.why_ended.empty()) page += "<p>" + escape(terms.why_ended) + "</p>\n";
  page += verdict_card(best, terms, unit);
  if (best && best->profile) page += profile_card(*best->profile);
  if (!history.empty()) {
    page +=
        "<div class=columns><div>" +
        card("Throughput by batch size; × and dashes: out of memory", batch_chart_svg(history)) +
        "</div><div>" +
        card("Search: each trial, and the best so far", convergence_chart_svg(history)) +
        "</div></div>\n";
    if (best) {
      page += card("Why it wins: what compute, loader and memory allow at other batch sizes",
                   model_chart_svg(history, space, *best, terms));
    }
    page += card("What mattered", effect_rows(knob_effects(history, space), unit));
    page += card("Trials", trial_rows(history, space, best));
  }
  return page + "</main></html>\n";
}

}  // namespace redline::tuner
