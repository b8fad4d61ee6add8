#include "viewer/models/collectives_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "trace/analysis/link_use.h"
#include "trace/analysis/run_tables.h"
#include "trace/emit/collective_names.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::Analysis;

/// What the calls of a row have in common: kind, group, bytes and name.
using CallKey = std::tuple<trace::CollectiveKind, std::string_view, int64_t, std::string_view>;

std::map<CallKey, SliceRef> longest_calls(const Session& session, const Analysis& analysis,
                                          uint32_t trace) {
  const trace::CollectiveCalls& all = analysis.communication.collectives;
  std::map<CallKey, SliceRef> longest;
  for (const trace::CollectiveCall& call : all.calls) {
    const SliceRef ref{trace, call.slice};
    const CallKey key{call.kind, all.groups[call.group].name, call.bytes, session.name_of(ref)};
    keep_longer(session, longest[key], ref);
  }
  return longest;
}

// All calls of a row have the same size.
CallKey key_of(const trace::Collective& row) {
  return {row.kind, row.group, row.bytes ? *row.bytes / std::max<int64_t>(row.count, 1) : -1,
          row.name};
}

std::optional<int64_t> mean_of(std::optional<int64_t> total_ns, int64_t count) {
  return total_ns ? std::optional(mean_ns(*total_ns, count)) : std::nullopt;
}

/// The collectives of one kind and group, whatever their sizes.
struct AllSizes {
  size_t rows = 0;
  int64_t count = 0;
  std::optional<int64_t> total_ns = 0, exposed_ns = 0, bytes = 0;
  std::optional<double> on_bus = 0;  ///< bytes

  void add(const trace::Collective& row) {
    ++rows;
    count += row.count;
    total_ns = trace::sum_if_known(total_ns, row.total_ns);
    exposed_ns = trace::sum_if_known(exposed_ns, row.exposed_ns);
    bytes = trace::sum_if_known(bytes, row.bytes);
    if (on_bus && row.bus_bandwidth) {
      *on_bus += *row.bus_bandwidth * static_cast<double>(*row.total_ns) * 1e-9;
    } else {
      on_bus.reset();
    }
  }
  [[nodiscard]] std::optional<double> bus_bandwidth() const {
    if (!on_bus || total_ns.value_or(0) <= 0) return std::nullopt;
    return *on_bus * 1e9 / static_cast<double>(*total_ns);
  }
};

// A row for each kind and group that has several rows.
void add_sums(Table& table, const Analysis& analysis, const std::string& rank) {
  std::map<std::pair<trace::CollectiveKind, std::string>, AllSizes> sums;
  for (const trace::Collective& row : analysis.communication.table) {
    sums[{row.kind, row.group}].add(row);
  }
  for (const auto& [key, sum] : sums) {
    if (sum.rows < 2) continue;
    table.rows.push_back(
        {{fmt::format("(all {} together)", trace::kind_name(key.first)),
          std::string(trace::kind_name(key.first)), rank, key.second, std::string(), sum.count,
          sum.bytes, sum.total_ns, mean_of(sum.total_ns, sum.count), sum.exposed_ns,
          sum.bus_bandwidth(), TableValue()},
         {},
         {}});
  }
}

}  // namespace

Table collective_rows(const Session& session, const trace::Report& report) {
  Table table{"Collectives",
              {{"Collective", Unit::kName},
               {"Kind", Unit::kText},
               {"Rank", Unit::kText},
               {"Group", Unit::kText},
               {"Algorithm", Unit::kText},
               {"Calls", Unit::kCount},
               {"Bytes", Unit::kBytes},
               {"Total", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Exposed", Unit::kDuration, "While no kernel computed beside it"},
               {"Bus bandwidth", Unit::kBytesPerSecond},
               {"Of links", Unit::kShare, "Of the bandwidth of the links between the GPUs"}},
              {}};
  const auto link_gb_per_s = trace::link_peak(report.traces);
  for (const Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    std::map<CallKey, SliceRef> longest;
    if (index) longest = longest_calls(session, analysis, *index);
    for (const trace::Collective& row : analysis.communication.table) {
      const std::string algorithm =
          fmt::format("{}{}{}", row.algorithm(), row.protocol().empty() ? "" : " ", row.protocol());
      table.rows.push_back(
          {{TableValue::kernel(row.name), std::string(trace::kind_name(row.kind)),
            rank_name(session, analysis), row.group, algorithm, row.count, row.bytes, row.total_ns,
            mean_of(row.total_ns, row.count), row.exposed_ns, row.bus_bandwidth,
            trace::share_of_link(row, link_gb_per_s)},
           longest[key_of(row)],
           {}});
    }
    add_sums(table, analysis, rank_name(session, analysis));
  }
  return table;
}

std::function<bool(const TableRow& row)> row_of_call(const Session& session,
                                                     const trace::Report& report, SliceRef slice) {
  for (const Analysis& analysis : report.analyses) {
    if (trace_of(session, analysis) != slice.trace) continue;
    const trace::CollectiveCalls& all = analysis.communication.collectives;
    const auto call = std::ranges::find(all.calls, slice.slice, &trace::CollectiveCall::slice);
    if (call == all.calls.end()) continue;
    return [name = std::string(session.name_of(slice)), rank = rank_name(session, analysis),
            group = all.groups[call->group].name, bytes = call->bytes](const TableRow& row) {
      if (!row.slice || row.values[0].text() != name || row.values[2].text() != rank) return false;
      const bool has_bytes = row.values[6].kind() == TableValue::Kind::kWhole;
      const int64_t calls = std::max<int64_t>(row.values[5].whole(), 1);
      return row.values[3].text() == group &&
             (has_bytes ? row.values[6].whole() / calls : -1) == bytes;
    };
  }
  return [](const TableRow&) { return false; };
}

SliceRef longest_of_kind(const Session& session, const trace::Report& report,
                         std::string_view kind) {
  SliceRef longest;
  for (const Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    if (!index) continue;
    for (const trace::CollectiveCall& call : analysis.communication.collectives.calls) {
      if (trace::kind_name(call.kind) == kind) {
        keep_longer(session, longest, {*index, call.slice});
      }
    }
  }
  return longest;
}

}  // namespace redline::viewer
