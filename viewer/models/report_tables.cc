#include "viewer/models/report_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "trace/analysis/run_tables.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

constexpr size_t kMostWaitColumns = 16;

SliceRef longest_step(const Session& session, const trace::Report& report, size_t trace) {
  const auto index = trace_at(session, report, trace);
  if (!index) return {};
  const SessionTrace& item = session.traces()[*index];
  if (!item.is_loaded) {  // it is loaded when the user goes there
    const auto& longest = report.traces[trace].longest_steps;
    return longest.empty() ? SliceRef() : SliceRef{*index, longest.front().slice};
  }
  const std::vector<Step>& steps = item.steps;
  const auto longest =
      std::ranges::max_element(steps, {}, [](const Step& step) { return step.range.span_ns(); });
  return longest == steps.end() ? SliceRef() : SliceRef{*index, longest->slice};
}

// "rank 1 · longest own work, waited for most": these need not be the same rank.
std::string rank_title(const trace::RankComparison& ranks, size_t index) {
  const int rank = ranks.times[index].rank;
  const auto awaited = ranks.waits ? ranks.waits->most_awaited() : std::nullopt;
  std::string marks = trace::straggler_mark(ranks, index);
  if (awaited == index) marks += std::string(marks.empty() ? "" : ", ") + "waited for most";
  return fmt::format("rank {}{}{}", rank, marks.empty() ? "" : " · ", marks);
}

// The slices' name of a kind of copies: "Memcpy HtoD (Pageable -> Device)".
std::string copy_name(const std::string& kind) {
  return (kind.starts_with("Memset") ? "" : "Memcpy ") + kind;
}

TableValue tensor_cores(const trace::KernelRow& row) {
  if (!row.uses_tensor_cores) return {};
  return std::string(*row.uses_tensor_cores ? "yes" : "no");
}

}  // namespace

std::string rank_name(const Session& session, const trace::Analysis& analysis) {
  const auto index = trace_of(session, analysis);
  const std::string title = index ? session.traces()[*index].title : "";
  return title.empty() ? fmt::format("rank {}", analysis.trace->metadata().rank.value_or(0))
                       : title;
}

bool has_marked_steps(const trace::Report& report) {
  return std::ranges::any_of(report.traces,
                             [](const auto& rank) { return rank.has_marked_steps(); });
}

Table kernel_rows(const trace::Report& report, const KernelOrigins& origins) {
  const bool is_partial = report.analyses.size() < report.traces.size();
  Table table{"Kernels",
              {{"Name", Unit::kName},
               {"Calls", Unit::kCount},
               {"Total", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Longest", Unit::kDuration},
               {"Share", Unit::kShare},
               {"Launched by", Unit::kText,
                is_partial ? "The operator that launched it most, in the ranks that are loaded"
                           : "The operator that launched it most"},
               {"Tensor Cores", Unit::kText},
               {"Occupancy", Unit::kShare}},
              {}};
  const auto rows = trace::merged_kernels(report.traces);
  const int64_t whole = total_of(rows, &trace::KernelRow::total_ns);
  for (const trace::KernelRow& row : rows) {
    const auto origin = origins.find(row.name);
    table.rows.push_back(
        {{TableValue::kernel(row.name), row.count, row.total_ns, mean_ns(row.total_ns, row.count),
          row.max_ns, share_of(row.total_ns, whole),
          origin == origins.end() ? TableValue() : TableValue(origin->second), tensor_cores(row),
          row.occupancy},
         {},
         row.name});
  }
  tell_kernels_apart(table);
  return table;
}

Table operator_rows(const trace::Report& report) {
  Table table{"Operators",
              {{"Name", Unit::kName},
               {"Calls", Unit::kCount},
               {"Self", Unit::kDuration},
               {"Total", Unit::kDuration},
               {"On the GPU", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Share", Unit::kShare}},
              {}};
  const auto rows = trace::merged_operators(report.traces);
  const int64_t whole = total_of(rows, &trace::OperatorRow::self_ns);
  for (const trace::OperatorRow& row : rows) {
    table.rows.push_back({{row.name, row.count, row.self_ns, row.total_ns,
                           row.device_self_ns > 0 ? TableValue(row.device_self_ns) : TableValue(),
                           mean_ns(row.total_ns, row.count), share_of(row.self_ns, whole)},
                          {},
                          row.name});
  }
  return table;
}

Table copy_rows(const trace::Report& report) {
  Table table{"Copies",
              {{"Copy", Unit::kText},
               {"Copies", Unit::kCount},
               {"Bytes", Unit::kBytes},
               {"Total", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Bandwidth", Unit::kBytesPerSecond, "While it copied"}},
              {}};
  for (const trace::CopyRow& row : trace::merged_copies(report.traces)) {
    table.rows.push_back(
        {{row.kind, row.count, row.bytes > 0 ? TableValue(row.bytes) : TableValue(), row.total_ns,
          mean_ns(row.total_ns, row.count), row.bandwidth()},
         {},
         copy_name(row.kind)});
  }
  return table;
}

Table rank_rows(const Session& session, const trace::Report& report) {
  const bool has_steps = has_marked_steps(report);
  const std::string whole = has_steps ? "an average step" : "the recording";
  Table table{"Ranks",
              {{has_steps ? "Rank (times a step)" : "Rank", Unit::kText},
               {has_steps ? "Step" : "Time", Unit::kDuration, "Of " + whole},
               {"Own work", Unit::kDuration, "Of " + whole + ", without exposed communication"},
               {"Exposed comm.", Unit::kDuration,
                "Of " + whole + ": communication with no kernel beside it"},
               {"Others waited", Unit::kDuration,
                "In " + whole + ", in collectives that this rank joined last"},
               {"Clock offset", Unit::kChange,
                "To be added to the rank's times to have them on the first rank's clock"},
               {"Clock ±", Unit::kDuration, "How far the clock's figure may be off"}},
              {}};
  if (!report.comparison) return table;
  const trace::RankComparison& ranks = *report.comparison;
  const size_t count = ranks.times.size();
  const bool matrix = ranks.waits && count <= kMostWaitColumns;
  for (size_t r = 0; matrix && r < count; ++r) {
    table.columns.push_back({fmt::format("Waits for {}", ranks.times[r].rank), Unit::kDuration,
                             fmt::format("How long the rank of this row waits for rank {} in {}",
                                         ranks.times[r].rank, whole)});
  }
  for (size_t r = 0; r < count; ++r) {
    const trace::RankTime& time = ranks.times[r];
    // The waits are known of the whole recording, all other times of an average step.
    const auto a_step = [&time](int64_t ns) { return mean_ns(ns, time.step_count); };
    TableRow row;
    row.values = {rank_title(ranks, r), time.step_ns, time.own_work_ns,
                  time.exposed_communication_ns};
    row.values.push_back(ranks.waits ? TableValue(a_step(ranks.waits->awaited_ns(r)))
                                     : TableValue());
    const auto& clock = ranks.clocks[r];
    row.values.push_back(clock ? TableValue(clock->offset_ns) : TableValue());
    row.values.push_back(clock ? TableValue(clock->uncertainty_ns) : TableValue());
    for (size_t c = 0; matrix && c < count; ++c) {
      row.values.push_back(a_step(ranks.waits->ns[r][c]));
    }
    row.slice = longest_step(session, report, report.compared[r]);
    table.rows.push_back(std::move(row));
  }
  drop_columns(table, [&table](size_t column) { return is_all_zero(table, column); });
  return table;
}

namespace {

// A row for each part of the memory that a device holds at its peak, the largest first.
std::vector<TableRow> peak_rows(const trace::MemoryPeak& peak, const std::string& device) {
  std::vector<TableRow> rows;
  const auto add = [&](const std::string& name, int64_t bytes, TableValue count) {
    rows.push_back(
        {{name, device, bytes, std::move(count), share_of(bytes, peak.allocated_bytes)}, {}, {}});
  };
  for (const trace::MemoryHolder& holder : peak.holders) {
    add(holder.name.empty() ? "(outside of operators)" : holder.name, holder.bytes, holder.count);
  }
  if (peak.other_holders.count > 0) {
    add("(all other operators)", peak.other_holders.bytes, peak.other_holders.count);
  }
  if (peak.earlier_bytes > 0) add("(allocated before the recording)", peak.earlier_bytes, {});
  if (peak.earlier_bytes < 0) {
    add("(released, older than the recording)", peak.earlier_bytes, {});
  }
  if (peak.unknown_bytes != 0) add("(the trace does not say by whom)", peak.unknown_bytes, {});
  std::ranges::stable_sort(rows, std::greater(),
                           [](const TableRow& row) { return row.values[2].whole(); });
  TableRow all;
  all.values = {std::string("all, at the peak"), device, peak.allocated_bytes, TableValue(), 1.0};
  rows.insert(rows.begin(), std::move(all));
  return rows;
}

}  // namespace

Table memory_rows(const Session& session, const trace::Report& report) {
  Table table{"Memory",
              {{"Held at the peak by", Unit::kText},
               {"Device", Unit::kText},
               {"Bytes", Unit::kBytes},
               {"Allocations", Unit::kCount},
               {"Share", Unit::kShare}},
              {}};
  for (const trace::Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    for (const trace::MemoryPeak& peak : analysis.memory) {
      std::string device = peak.device_text();
      if (report.analyses.size() > 1) {
        device = rank_name(session, analysis) + " · " + device;
      }
      for (TableRow& row : peak_rows(peak, device)) {
        if (index) row.time = TimeRef{*index, peak.peak_time_ns, peak.peak_time_ns};
        table.rows.push_back(std::move(row));
      }
    }
  }
  return table;
}

}  // namespace redline::viewer
