#include "viewer/models/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/emit/collective_names.h"
#include "trace/report/diff_words.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

using trace::Analysis;

constexpr size_t kMostWaitColumns = 16;

std::string rank_name(const trace::Trace& trace, size_t index) {
  return fmt::format("rank {}", trace.metadata().rank.value_or(static_cast<int>(index)));
}

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Joins the rows of the same name from several traces.
template <typename Row, typename Get>
std::vector<Row> merged(const trace::Report& report, const Get& rows_of) {
  std::unordered_map<std::string, size_t> index;
  std::vector<Row> sums;
  for (const Analysis& analysis : report.traces) {
    for (const Row& row : rows_of(analysis)) {
      const auto [found, is_new] = index.try_emplace(row.name, sums.size());
      if (is_new) {
        sums.push_back(row);
        continue;
      }
      Row& sum = sums[found->second];
      sum.count += row.count;
      sum.total_ns = saturating_sum(sum.total_ns, row.total_ns);
      if constexpr (requires { sum.max_ns; }) {
        sum.max_ns = std::max(sum.max_ns, row.max_ns);
      } else {
        sum.self_ns = saturating_sum(sum.self_ns, row.self_ns);
        sum.device_self_ns = saturating_sum(sum.device_self_ns, row.device_self_ns);
      }
    }
  }
  return sums;
}

int64_t mean(int64_t total, int64_t count) { return total / std::max<int64_t>(count, 1); }

// The longest of the calls that the row sums up.
SliceRef longest_call(const Analysis& analysis, uint32_t trace, const trace::Collective& row) {
  const auto& slices = analysis.trace->slices();
  // All calls of a row have the same size.
  const int64_t bytes = row.bytes ? *row.bytes / std::max<int64_t>(row.count, 1) : -1;
  SliceRef longest;
  int64_t longest_ns = -1;
  for (const trace::CollectiveCall& call : analysis.communication.collectives.calls) {
    const auto& group = analysis.communication.collectives.groups[call.group];
    const std::string_view name = analysis.trace->string(slices.name[call.slice.value]);
    if (call.kind != row.kind || group.name != row.group) continue;
    if (call.bytes != bytes || name != row.name) continue;
    const int64_t ns = slices.end_ns[call.slice.value] - slices.begin_ns[call.slice.value];
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    longest = {trace, call.slice};
  }
  return longest;
}

// The longest step of the rank's last trace, which the comparison of ranks uses.
SliceRef longest_step(const Session& session, const trace::Report& report, int rank) {
  for (size_t t = report.traces.size(); t-- > 0;) {
    const auto& metadata = report.traces[t].trace->metadata();
    const auto index = trace_of(session, report.traces[t]);
    if (!index || metadata.rank.value_or(static_cast<int>(t)) != rank) continue;
    const std::vector<Step>& steps = session.traces()[*index].steps;
    const auto longest = std::max_element(
        steps.begin(), steps.end(),
        [](const Step& a, const Step& b) { return a.range.span_ns() < b.range.span_ns(); });
    return longest == steps.end() ? SliceRef() : SliceRef{*index, longest->slice};
  }
  return {};
}

// "rank 1 · longest own work, waited for most": these need not be the same rank.
std::string rank_title(const trace::RankComparison& ranks, size_t index) {
  const int rank = ranks.times[index].rank;
  const auto awaited = ranks.waits ? ranks.waits->most_awaited() : std::nullopt;
  std::string marks = trace::straggler_mark(ranks, rank);
  if (awaited == index) marks += std::string(marks.empty() ? "" : ", ") + "waited for most";
  return fmt::format("rank {}{}{}", rank, marks.empty() ? "" : " · ", marks);
}

TableValue tensor_cores(const trace::KernelRow& row) {
  if (!row.uses_tensor_cores) return {};
  return std::string(*row.uses_tensor_cores ? "yes" : "no");
}

}  // namespace

Table kernel_rows(const trace::Report& report, const KernelOrigins& origins) {
  Table table{"Kernels",
              {{"Name", Unit::kKernel},
               {"Calls", Unit::kCount},
               {"Total", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Longest", Unit::kDuration},
               {"Share", Unit::kShare},
               {"Launched by", Unit::kText, "The operator that launched it most"},
               {"Tensor Cores", Unit::kText},
               {"Occupancy", Unit::kShare}},
              {}};
  const auto rows = merged<trace::KernelRow>(
      report, [](const Analysis& analysis) -> const auto& { return analysis.kernels; });
  int64_t whole = 0;
  for (const auto& row : rows) whole = saturating_sum(whole, row.total_ns);
  for (const trace::KernelRow& row : rows) {
    const auto origin = origins.find(row.name);
    table.rows.push_back({{row.name, row.count, row.total_ns, mean(row.total_ns, row.count),
                           row.max_ns, share_of(row.total_ns, whole),
                           origin == origins.end() ? TableValue() : TableValue(origin->second),
                           tensor_cores(row), row.occupancy},
                          {},
                          row.name});
  }
  return table;
}

Table operator_rows(const trace::Report& report) {
  Table table{"Operators",
              {{"Name", Unit::kText},
               {"Calls", Unit::kCount},
               {"Self", Unit::kDuration},
               {"Total", Unit::kDuration},
               {"On the GPU", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Share", Unit::kShare}},
              {}};
  const auto rows = merged<trace::OperatorRow>(
      report, [](const Analysis& analysis) -> const auto& { return analysis.operators; });
  int64_t whole = 0;
  for (const auto& row : rows) whole = saturating_sum(whole, row.self_ns);
  for (const trace::OperatorRow& row : rows) {
    table.rows.push_back({{row.name, row.count, row.self_ns, row.total_ns,
                           row.device_self_ns > 0 ? TableValue(row.device_self_ns) : TableValue(),
                           mean(row.total_ns, row.count), share_of(row.self_ns, whole)},
                          {},
                          row.name});
  }
  return table;
}

namespace {

/// The collectives of one kind and group, whatever their sizes.
struct AllSizes {
  size_t rows = 0;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t exposed_ns = 0;
  std::optional<int64_t> bytes = 0;
  std::optional<double> on_bus = 0;  ///< bytes

  void add(const trace::Collective& row) {
    ++rows;
    count += row.count;
    total_ns = saturating_sum(total_ns, row.total_ns);
    exposed_ns = saturating_sum(exposed_ns, row.exposed_ns);
    bytes = bytes && row.bytes ? std::optional(saturating_sum(*bytes, *row.bytes)) : std::nullopt;
    if (on_bus && row.bus_bandwidth) {
      *on_bus += *row.bus_bandwidth * static_cast<double>(row.total_ns) * 1e-9;
    } else {
      on_bus.reset();
    }
  }
  [[nodiscard]] std::optional<double> bus_bandwidth() const {
    if (!on_bus || total_ns <= 0) return std::nullopt;
    return *on_bus * 1e9 / static_cast<double>(total_ns);
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
        {{fmt::format("(all {} together)", trace::kind_name(key.first)), rank, key.second,
          std::string(), sum.count, sum.bytes ? TableValue(*sum.bytes) : TableValue(), sum.total_ns,
          mean(sum.total_ns, sum.count), sum.exposed_ns, sum.bus_bandwidth()},
         {},
         {}});
  }
}

}  // namespace

Table collective_rows(const Session& session, const trace::Report& report) {
  Table table{"Collectives",
              {{"Collective", Unit::kText},
               {"Rank", Unit::kText},
               {"Group", Unit::kText},
               {"Algorithm", Unit::kText},
               {"Calls", Unit::kCount},
               {"Bytes", Unit::kBytes},
               {"Total", Unit::kDuration},
               {"Mean", Unit::kDuration},
               {"Exposed", Unit::kDuration, "While no kernel computed beside it"},
               {"Bus bandwidth", Unit::kBytesPerSecond}},
              {}};
  for (size_t t = 0; t < report.traces.size(); ++t) {
    const Analysis& analysis = report.traces[t];
    const auto index = trace_of(session, analysis);
    for (const trace::Collective& row : analysis.communication.table) {
      const std::string algorithm =
          fmt::format("{}{}{}", row.algorithm, row.protocol.empty() ? "" : " ", row.protocol);
      table.rows.push_back(
          {{row.name, rank_name(*analysis.trace, t), row.group, algorithm, row.count,
            row.bytes ? TableValue(*row.bytes) : TableValue(), row.total_ns,
            mean(row.total_ns, row.count), row.exposed_ns, row.bus_bandwidth},
           index ? longest_call(analysis, *index, row) : SliceRef(),
           {}});
    }
    add_sums(table, analysis, rank_name(*analysis.trace, t));
  }
  return table;
}

std::function<bool(const TableRow& row)> row_of_call(const Session& session,
                                                     const trace::Report& report, SliceRef slice) {
  for (size_t t = 0; t < report.traces.size(); ++t) {
    const Analysis& analysis = report.traces[t];
    if (trace_of(session, analysis) != slice.trace) continue;
    const trace::CollectiveCalls& all = analysis.communication.collectives;
    const auto call = std::find_if(
        all.calls.begin(), all.calls.end(),
        [&slice](const trace::CollectiveCall& each) { return each.slice == slice.slice; });
    if (call == all.calls.end()) continue;
    return [name = std::string(session.name_of(slice)), rank = rank_name(*analysis.trace, t),
            group = all.groups[call->group].name, bytes = call->bytes](const TableRow& row) {
      if (!row.slice || row.values[0].text() != name || row.values[1].text() != rank) return false;
      const bool has_bytes = row.values[5].kind() == TableValue::Kind::kWhole;
      const int64_t calls = std::max<int64_t>(row.values[4].whole(), 1);
      return row.values[2].text() == group &&
             (has_bytes ? row.values[5].whole() / calls : -1) == bytes;
    };
  }
  return [](const TableRow&) { return false; };
}

Table rank_rows(const Session& session, const trace::Report& report) {
  Table table{"Ranks",
              {{"Rank (times a step)", Unit::kText},
               {"Step", Unit::kDuration, "An average step"},
               {"Own work", Unit::kDuration, "Of an average step, without exposed communication"},
               {"Exposed comm.", Unit::kDuration,
                "Of an average step: communication with no kernel beside it"},
               {"Others waited", Unit::kDuration,
                "In an average step, in collectives that this rank joined last"},
               {"Clock ahead", Unit::kDuration, "Of the first rank's, as collectives show it"},
               {"Clock ±", Unit::kDuration, "How far the clock's figure may be off"}},
              {}};
  if (!report.comparison) return table;
  const trace::RankComparison& ranks = *report.comparison;
  const size_t count = ranks.times.size();
  const bool matrix = ranks.waits && count <= kMostWaitColumns;
  for (size_t r = 0; matrix && r < count; ++r) {
    table.columns.push_back({fmt::format("Waits for {}", ranks.times[r].rank), Unit::kDuration,
                             fmt::format("How long the rank of this row waits for rank {} in an "
                                         "average step",
                                         ranks.times[r].rank)});
  }
  for (size_t r = 0; r < count; ++r) {
    const trace::RankTime& time = ranks.times[r];
    // The waits are known of the whole recording, all other times of an average step.
    const auto a_step = [&time](int64_t ns) { return mean(ns, time.step_count); };
    TableRow row;
    row.values = {rank_title(ranks, r), time.step_ns, time.own_work_ns,
                  time.exposed_communication_ns};
    row.values.push_back(ranks.waits ? TableValue(a_step(ranks.waits->awaited_ns(r)))
                                     : TableValue());
    const auto& clock = ranks.clocks[r];
    row.values.push_back(clock ? TableValue(-clock->offset_ns) : TableValue());
    row.values.push_back(clock ? TableValue(clock->uncertainty_ns) : TableValue());
    for (size_t c = 0; matrix && c < count; ++c) {
      row.values.push_back(a_step(ranks.waits->ns[r][c]));
    }
    row.slice = longest_step(session, report, time.rank);
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
  std::stable_sort(rows.begin(), rows.end(), [](const TableRow& left, const TableRow& right) {
    return left.values[2].whole() > right.values[2].whole();
  });
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
  for (size_t t = 0; t < report.traces.size(); ++t) {
    const auto index = trace_of(session, report.traces[t]);
    for (const trace::MemoryPeak& peak : report.traces[t].memory) {
      std::string device = peak.is_gpu ? fmt::format("GPU {}", peak.device) : "host";
      if (report.traces.size() > 1) {
        device = rank_name(*report.traces[t].trace, t) + " · " + device;
      }
      for (TableRow& row : peak_rows(peak, device)) {
        if (index) row.time = TimeRef{*index, peak.peak_time_ns, peak.peak_time_ns};
        table.rows.push_back(std::move(row));
      }
    }
  }
  return table;
}

namespace {

std::string change_text(int64_t delta_ns) {
  return (delta_ns > 0 ? "+" : "") + format_duration(delta_ns);
}

TableValue relative_change(const trace::DiffRow& row) {
  if (row.before_ns <= 0) return {};
  return static_cast<double>(row.delta_ns()) / static_cast<double>(row.before_ns);
}

void add(Table& table, const char* kind, const std::vector<trace::DiffRow>& rows, bool is_slice) {
  for (const trace::DiffRow& row : rows) {
    if (row.before_ns == 0 && row.after_ns == 0) continue;
    const bool judged = row.verdict != trace::Verdict::kUnknown;
    table.rows.push_back(
        {{row.name, std::string(kind), row.before_ns, row.after_ns, row.delta_ns(),
          relative_change(row), is_slice ? TableValue(row.before_count) : TableValue(),
          is_slice ? TableValue(row.after_count) : TableValue(),
          judged ? TableValue(std::string(trace::verdict_name(row.verdict))) : TableValue()},
         {},
         is_slice ? row.name : ""});
  }
}

}  // namespace

Table diff_rows(const trace::Diff& diff) {
  Table table{"Compare",
              {{"Name", Unit::kText},
               {"Kind", Unit::kText},
               {"Before", Unit::kDuration},
               {"After", Unit::kDuration},
               {"Change", Unit::kChange},
               {"Change %", Unit::kChangeShare},
               {"Calls before", Unit::kCount},
               {"Calls after", Unit::kCount},
               {"Verdict", Unit::kText}},
              {}};
  add(table, "part of the step", diff.breakdown, false);
  add(table, "kernel", diff.kernels, true);
  add(table, "collective", diff.collectives, true);
  add(table, "copy", diff.copies, true);
  add(table, "operator", diff.operators, true);
  return table;
}

std::string diff_headline(const trace::Diff& diff) {
  const trace::DiffWords words = trace::words_of(diff);
  std::string change = change_text(diff.step_delta_ns());
  if (diff.basis_samples) change += " for " + words.basis;
  const auto& before = diff.before.samples_per_second;
  const auto& after = diff.after.samples_per_second;
  // Steps of different batch sizes say nothing beside each other.
  const std::string rates =
      diff.basis_samples && before && after
          ? fmt::format("{} → {} samples/s", redline::format_number(*before),
                        redline::format_number(*after))
          : fmt::format("{} → {} a step", format_duration(diff.before.step_ns),
                        format_duration(diff.after.step_ns));
  const std::string verdict = words.verdict.empty() ? "" : typeset(words.verdict) + ": ";
  return fmt::format("{}{} ({})", verdict, rates, change);
}

std::vector<std::string> diff_notes(const trace::Diff& diff) {
  const trace::DiffWords words = trace::words_of(diff);
  std::vector<std::string> notes{"times are those of " + words.basis, typeset(words.interval)};
  for (const std::string& warning : {words.other_gpu, words.unknown_samples}) {
    if (!warning.empty()) notes.push_back(warning);
  }
  return notes;
}

}  // namespace redline::viewer
