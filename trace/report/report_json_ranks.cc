#include "trace/analysis/link_use.h"
#include "trace/report/report_json_parts.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json collective_json(const Collective& row, std::optional<double> link_gb_per_s) {
  return {{"name", row.name},
          {"kind", kind_name(row.kind)},
          {"group", text_or_null(row.group)},
          {"ranks", row.ranks > 0 ? json(row.ranks) : json()},
          {"seq", row.first_seq},
          {"last_seq", row.last_seq},
          {"seq_from", row.seq_recorded ? "process_group" : "ordinal"},
          {"bytes", row.bytes},
          {"count", row.count},
          {"total_ns", row.total_ns},
          {"exposed_ns", row.exposed_ns},
          {"algorithm_bandwidth", row.algorithm_bandwidth},
          {"bus_bandwidth", row.bus_bandwidth},
          {"percent_of_link", percent_of_link(row, link_gb_per_s)},
          {"algorithm", text_or_null(row.algorithm())},
          {"protocol", text_or_null(row.protocol())}};
}

json clock_json(const ClockOffset& clock) {
  return {{"offset_ns", clock.offset_ns}, {"uncertainty_ns", clock.uncertainty_ns},
          {"at_ns", clock.at_ns},         {"drift_ppm", clock.drift * 1e6},
          {"pairs", clock.pairs},         {"outliers", clock.outliers}};
}

const char* name_of(MatchedBy by) {
  switch (by) {
    case MatchedBy::kSequenceNumber:
      return "seq";
    case MatchedBy::kStep:
      return "step";
    case MatchedBy::kOrdinal:
      break;
  }
  return "ordinal";
}

json waits_json(const RankComparison& comparison) {
  if (!comparison.waits) return nullptr;
  const RankWaits& waits = *comparison.waits;
  const auto most = waits.most_awaited();
  return {{"collectives", waits.collectives},
          {"mismatched", waits.mismatched},
          {"ns", waits.ns},
          {"most_awaited", most ? json(comparison.times[*most].rank) : json()},
          {"mean_spread_ns", waits.mean_spread_ns},
          {"max_spread_ns", waits.max_spread_ns}};
}

json straggler_json(const RankComparison& comparison) {
  if (!comparison.straggler) return nullptr;
  json phase;
  if (comparison.late_in) phase = kWorkPartNames[static_cast<size_t>(*comparison.late_in)];
  return {{"rank", comparison.times[*comparison.straggler].rank}, {"phase", phase}};
}

}  // namespace

json collectives_json(std::span<const Collective> collectives,
                      std::optional<double> link_gb_per_s) {
  return list_json(collectives,
                   [&](const Collective& row) { return collective_json(row, link_gb_per_s); });
}

json ranks_json(const RankComparison& comparison) {
  json offsets = json::array(), uncertainties = json::array(), clocks = json::array();
  const json times = list_json(comparison.times, [](const RankTime& time) {
    return json{{"rank", time.rank},
                {"step_ns", time.step_ns},
                {"own_work_ns", time.own_work_ns},
                {"exposed_communication_ns", time.exposed_communication_ns}};
  });
  for (const auto& clock : comparison.clocks) {
    offsets.push_back(clock ? json(clock->offset_ns) : json());
    uncertainties.push_back(clock ? json(clock->uncertainty_ns) : json());
    clocks.push_back(clock ? clock_json(*clock) : json());
  }
  return {{"clock_offsets_ns", offsets},
          {"uncertainty_ns", uncertainties},
          {"clocks", clocks},
          {"matched_by", name_of(comparison.matched.by)},
          {"straggler", straggler_json(comparison)},
          {"skew_ns", comparison.skew_ns},
          {"gpus", comparison.gpu_sharing.gpus},
          {"waits", waits_json(comparison)},
          {"times", times}};
}

}  // namespace redline::trace
