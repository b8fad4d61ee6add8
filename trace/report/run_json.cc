#include <algorithm>
#include <cmath>

#include "base/json_values.h"
#include "trace/report/run_report.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json part_json(const std::optional<LogPart>& part, bool is_several) {
  if (is_several) return "several";
  return part ? json(log_part_key(*part)) : json();
}

json run_finding_json(const RunFinding& finding) {
  const auto unless_zero = [](auto value) { return value == 0 ? json() : json(value); };
  return {{"cause", run_cause_key(finding.cause)},
          {"message", headline_of(finding)},
          {"detail", detail_of(finding)},
          {"part", part_json(finding.part, finding.longer_ns.has_value())},
          {"ranks", finding.ranks},
          {"host", text_or_null(finding.host)},
          {"from_step", finding.from_step},
          {"to_step", finding.to_step},
          {"change", unless_zero(finding.change)},
          {"risen_step", unless_zero(finding.risen_step)},
          {"lost_share", unless_zero(finding.lost_share)},
          {"count", unless_zero(finding.count)},
          {"period_steps", unless_zero(finding.period)},
          {"typical_ns", unless_zero(std::llround(finding.typical_ns))},
          {"by_other_processes", finding.by_others},
          {"takes_turns", finding.takes_turns},
          {"more_tokens", unless_zero(finding.more_tokens)},
          {"bytes_per_hour", unless_zero(std::llround(finding.bytes_per_hour))}};
}

json rank_row_json(const RankRow& row) {
  return {{"rank", row.rank},
          {"host", row.host},
          {"steps", row.steps},
          {"step_ns", std::llround(row.step_ns)},
          {"own_ns", row.own_ns ? json(std::llround(*row.own_ns)) : json()},
          {"data_wait_share", row.wait_share},
          {"age_ns", row.age_ns},
          {"memory_bytes", row.memory_bytes}};
}

}  // namespace

json run_json(const RunVerdict& verdict) {
  json parts = json::object();
  for (size_t part = 0; part < kLogParts; ++part) {
    parts[std::string(log_part_key(static_cast<LogPart>(part)))] = verdict.part_share[part];
  }
  parts["other"] = verdict.other_share;
  json object;
  object["running"] = verdict.is_running;
  object["interrupted"] = verdict.is_interrupted;
  object["world_size"] = verdict.world_size;
  object["unreadable_logs"] = verdict.unreadable_logs;
  object["earlier_logs"] = verdict.earlier_logs;
  object["damaged_bytes"] = verdict.damaged_bytes;
  object["begin_ns"] = verdict.begin_ns;
  object["end_ns"] = verdict.end_ns;
  object["after_steps_ns"] = verdict.after_steps_ns;
  object["steps"] = verdict.steps;
  object["lost_steps"] = verdict.lost_steps;
  object["lost_marks"] = verdict.lost_marks;
  object["thinned_before_ns"] = verdict.thinned_before_ns;
  object["thinned_before_step"] = verdict.thinned_before_step;
  object["too_few_steps"] = verdict.has_too_few_steps;
  object["steps_per_s"] = verdict.steps_per_s;
  object["samples_per_s"] = verdict.samples_per_s;
  object["tokens_per_s"] = verdict.tokens_per_s;
  object["shares_samples"] = verdict.shares_samples;
  object["part_shares"] = parts;
  object["warm_up"] = {{"steps", verdict.warm_up_steps},
                       {"lost_share", verdict.warm_up_lost_share}};
  object["findings"] = list_json(verdict.findings, run_finding_json);
  object["levels"] = list_json(verdict.segments, [](const RunSegment& segment) {
    return json{{"first_step", segment.first_step},
                {"end_step", segment.end_step},
                {"step_ns", std::llround(segment.step_ns)}};
  });
  object["slow_steps"] = list_json(verdict.slow, [](const SlowStep& slow) {
    return json{{"step", slow.step},
                {"begin_ns", slow.begin_ns},
                {"length_ns", slow.length_ns},
                {"excess_ns", slow.excess_ns},
                {"part", part_json(slow.part, slow.is_in_several_parts())},
                {"rank", slow.rank}};
  });
  object["rates"] = list_json(verdict.points, [](const RunPoint& point) {
    return json{{"step", point.step},
                {"time_ns", point.time_ns},
                {"steps_per_s", point.steps_per_s},
                {"samples_per_s", point.samples_per_s}};
  });
  object["ranks"] = list_json(verdict.ranks, rank_row_json);
  return object;
}

std::string run_figures_json(const RunVerdict& verdict) {
  json figures;
  const auto put = [&](const std::string& name, const auto& value) {
    if (value) figures["redline/" + name] = *value;
  };
  figures["redline/world_size"] = verdict.world_size;
  figures["redline/ranks"] = verdict.ranks.size();
  figures["redline/steps"] = verdict.steps;
  figures["redline/seconds"] = static_cast<double>(verdict.end_ns - verdict.begin_ns) * 1e-9;
  figures["redline/steps_per_s"] = verdict.steps_per_s;
  put("samples_per_s", verdict.samples_per_s);
  put("tokens_per_s", verdict.tokens_per_s);
  for (size_t part = 0; part < kLogParts; ++part) {
    put("share_" + std::string(log_part_key(static_cast<LogPart>(part))), verdict.part_share[part]);
  }
  figures["redline/share_other"] = verdict.other_share;
  figures["redline/warm_up_lost_share"] = verdict.warm_up_lost_share;
  int64_t memory = 0;
  for (const RankRow& rank : verdict.ranks) {
    memory = std::max(memory, rank.memory_bytes.value_or(0));
  }
  if (memory > 0) figures["redline/memory_bytes"] = memory;
  figures["redline/findings"] = verdict.findings.size();
  return figures.dump(2) + "\n";
}

}  // namespace redline::trace
