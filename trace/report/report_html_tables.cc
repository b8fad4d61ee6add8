#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/link_use.h"
#include "trace/analysis/run_tables.h"
#include "trace/report/html.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_html.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

std::string rank_of(const RankSummary& summary) {
  const auto rank = summary.facts.rank;
  return rank ? std::to_string(*rank) : "–";
}

std::string kernels_html(const Report& report) {
  const auto kernels = merged_kernels(report.traces);
  const int64_t all_ns = total_of(kernels, &KernelRow::total_ns);
  std::vector<std::string_view> names;
  for (const KernelRow& row : kernels) names.push_back(row.name);
  const std::vector<std::string> shown = short_kernel_names(names, html::kNameLetters);
  std::vector<std::string> rows;
  for (const KernelRow& row : kernels) {
    rows.push_back(html::name_cell(row.name, shown[rows.size()]) +
                   html::bar_cell(share_of(row.total_ns, kernels.front().total_ns),
                                  row.is_communication() ? "communication" : "kernel") +
                   html::share_cell(share_of(row.total_ns, all_ns)) + html::count_cell(row.count) +
                   html::time_cell(row.total_ns) + html::time_cell(row.mean_ns()) +
                   html::time_cell(row.min_ns) + html::time_cell(row.max_ns) +
                   html::text_cell(row.uses_tensor_cores.value_or(false) ? "yes" : ""));
  }
  return html::table("Kernels", format_count(rows.size()),
                     {{"kernel", false},
                      {"", false, true},
                      {"share"},
                      {"calls"},
                      {"total"},
                      {"mean"},
                      {"shortest"},
                      {"longest"},
                      {"Tensor Cores", false}},
                     rows);
}

std::string operators_html(const Report& report) {
  const auto operators = merged_operators(report.traces);
  const int64_t all_ns = total_of(operators, &OperatorRow::self_ns);
  std::vector<std::string> rows;
  for (const OperatorRow& row : operators) {
    rows.push_back(html::name_cell(row.name, row.name) +
                   html::bar_cell(share_of(row.self_ns, operators.front().self_ns), "operator") +
                   html::share_cell(share_of(row.self_ns, all_ns)) + html::count_cell(row.count) +
                   html::time_cell(row.self_ns) + html::time_cell(row.total_ns) +
                   html::time_cell(row.device_self_ns));
  }
  return html::table("Operators", format_count(rows.size()),
                     {{"operator", false},
                      {"", false, true},
                      {"share"},
                      {"calls"},
                      {"own host time"},
                      {"with callees"},
                      {"own GPU time"}},
                     rows);
}

std::string collectives_html(const Report& report) {
  std::vector<std::string> rows;
  const auto link_gb_per_s = link_peak(report.traces);
  for (const Collective& row : merged_collectives(report.traces)) {
    const auto message =
        row.bytes && row.count > 0 ? std::optional(*row.bytes / row.count) : std::nullopt;
    const auto exposed_share =
        row.total_ns ? std::optional(share_of(*row.exposed_ns, *row.total_ns)) : std::nullopt;
    rows.push_back(html::name_cell(row.name, short_kernel_name(row.name, html::kNameLetters)) +
                   html::text_cell(row.group) + html::count_cell(row.count) +
                   html::bytes_cell(message) + html::time_cell(row.total_ns) +
                   html::time_cell(row.exposed_ns) + html::share_cell(exposed_share) +
                   html::rate_cell(row.bus_bandwidth));
    if (link_gb_per_s) rows.back() += html::share_cell(share_of_link(row, link_gb_per_s));
  }
  std::vector<html::Column> columns = {{"collective", false}, {"group", false}, {"calls"},
                                       {"message"},           {"total"},        {"exposed"},
                                       {"exposed share"},     {"bus rate"}};
  if (link_gb_per_s) columns.push_back({"of the links"});
  return html::table("Collectives", "by message size", columns, rows);
}

std::string copies_html(const Report& report) {
  std::vector<std::string> rows;
  for (const CopyRow& row : merged_copies(report.traces)) {
    rows.push_back(html::name_cell(row.kind, row.kind) + html::count_cell(row.count) +
                   html::time_cell(row.total_ns) + html::bytes_cell(row.bytes) +
                   html::rate_cell(row.bandwidth()));
  }
  return html::table("Copies", "", {{"kind", false}, {"calls"}, {"total"}, {"bytes"}, {"rate"}},
                     rows);
}

// Few ranks in their order; of many those with the longest own work first.
std::vector<size_t> ranks_in_order(const Report& report) {
  const std::vector<RankTime>& times = report.comparison->times;
  return largest_first(
      times.size(), [&](size_t i) { return report.spread ? times[i].own_work_ns : std::nullopt; });
}

}  // namespace

std::string ranks_html(const Report& report) {
  if (!report.comparison) return {};
  const RankComparison& ranks = *report.comparison;
  int64_t longest_ns = 1;
  for (const RankTime& time : ranks.times) longest_ns = std::max(longest_ns, time.step_ns);
  std::vector<std::string> rows;
  for (const size_t i : ranks_in_order(report)) {
    const RankTime& time = ranks.times[i];
    const std::string late = straggler_mark(ranks, i);
    const auto clock = i < ranks.clocks.size() ? ranks.clocks[i] : std::nullopt;
    std::optional<int64_t> awaited_ns;  // known of the recording; the other times are of a step
    if (ranks.waits) {
      awaited_ns = ranks.waits->awaited_ns(i) / std::max<int64_t>(1, time.step_count);
    }
    rows.push_back(
        html::name_cell("",
                        fmt::format("rank {}{}{}", time.rank, late.empty() ? "" : " · ", late)) +
        fmt::format("<td class=drawn style=\"width:30%\" aria-hidden=true><span class=bar "
                    "style=\"width:{:.2f}%\"></span><span class=bar "
                    "style=\"width:{:.2f}%;background:var(--communication)\"></span></td>",
                    95 * share_of(time.own_work_ns.value_or(0), longest_ns),
                    95 * share_of(time.exposed_communication_ns.value_or(0), longest_ns)) +
        html::time_cell(time.step_ns) + html::time_cell(time.own_work_ns) +
        html::time_cell(time.exposed_communication_ns) + html::time_cell(awaited_ns) +
        (clock ? html::number_cell(static_cast<double>(clock->offset_ns), offset_text(*clock))
               : "<td class=number>unknown</td>"));
  }
  std::string note = "own work is not known: the traces do not tell how long collectives took";
  if (ranks.skew_ns) {
    note = fmt::format("own work differs by {}{}", format_ns(*ranks.skew_ns),
                       first_in_means(report).a_step());
  }
  for (const std::string& line : spread_lines(report)) note += " · " + line;
  return html::table("Ranks", note,
                     {{"rank", false},
                      {"own work and collectives", false, true},
                      {first_in_means(report).has_marked_steps() ? "step" : "length"},
                      {"own work"},
                      {"exposed collectives"},
                      {"others waited for it"},
                      {"clock"}},
                     rows, 32);
}

std::string gpus_html(const Report& report) {
  std::vector<std::string> rows;
  for (const RankSummary& summary : report.traces) {
    for (const GpuUse& gpu : summary.gpus) {
      rows.push_back(html::name_cell(gpu.name, fmt::format("GPU {} {}", gpu.device, gpu.name)) +
                     html::text_cell(rank_of(summary)) + html::share_cell(gpu.utilization) +
                     html::share_cell(gpu.sm_efficiency) + html::share_cell(gpu.occupancy) +
                     html::share_cell(gpu.tensor_core_share) + html::time_cell(gpu.compute_ns) +
                     html::time_cell(gpu.communication_ns) +
                     html::share_cell(gpu.communication_overlap) + html::time_cell(gpu.idle_ns));
    }
  }
  return html::table("GPUs", "",
                     {{"GPU", false},
                      {"rank", false},
                      {"busy"},
                      {"SM efficiency"},
                      {"occupancy"},
                      {"Tensor Cores"},
                      {"compute"},
                      {"communication"},
                      {"overlapped"},
                      {"idle"}},
                     rows, 32);
}

std::string tables_html(const Report& report) {
  return kernels_html(report) + operators_html(report) + collectives_html(report) +
         copies_html(report);
}

std::string files_html(const Report& report) {
  std::vector<std::string> files, issues;
  for (const RankSummary& summary : report.traces) {
    const TraceFacts& facts = summary.facts;
    uint64_t skipped = 0, repaired = 0;
    for (const LoadIssue& issue : facts.issues) {
      (issue.info().lost_data ? skipped : repaired) += issue.count;
      issues.push_back(html::text_cell(issue.info().lost_data ? "skipped" : "repaired") +
                       html::text_cell(issue.info().name) + html::text_cell(issue.info().sentence) +
                       html::text_cell(issue.info().advice) +
                       html::count_cell(static_cast<int64_t>(issue.count)) +
                       html::count_cell(static_cast<int64_t>(issue.first_offset)) +
                       html::name_cell(facts.path, facts.path));
    }
    files.push_back(html::name_cell(facts.path, facts.path) + html::text_cell(rank_of(summary)) +
                    html::count_cell(static_cast<int64_t>(facts.events)) +
                    html::count_cell(static_cast<int64_t>(skipped)) +
                    html::count_cell(static_cast<int64_t>(repaired)) +
                    html::count_cell(facts.dropped));
  }
  std::vector<std::string> left_out;
  for (const std::string& message : report.unreadable) {
    left_out.push_back(html::text_cell(message));
  }
  return html::table("What could not be read and is left out", "", {{"", false}}, left_out) +
         html::table("What the reader skipped or repaired", "",
                     {{"", false},
                      {"what", false},
                      {"what it means", false},
                      {"what to do", false},
                      {"count"},
                      {"first at byte"},
                      {"file", false}},
                     issues) +
         html::table("Files", "",
                     {{"file", false},
                      {"rank", false},
                      {"events"},
                      {"skipped"},
                      {"repaired"},
                      {"dropped by the recorder"}},
                     files);
}

}  // namespace redline::trace
