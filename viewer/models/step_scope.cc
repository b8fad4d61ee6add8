#include "viewer/models/step_scope.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "trace/analysis/tables.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using trace::DeviceWork;
using trace::is_within;

// By its name alone a row would lead to the longest call of the whole recording.
void lead_to_longest(Table& table, const Session& session, const std::vector<SliceRef>& calls) {
  std::map<std::string_view, SliceRef> longest;
  for (const SliceRef call : calls) keep_longer(session, longest[session.name_of(call)], call);
  for (TableRow& row : table.rows) row.slice = longest[row.name];
}

std::vector<SliceRef> kernels_in(const trace::DeviceWorkTable& device, uint32_t trace,
                                 Interval time) {
  std::vector<SliceRef> calls;
  for (const DeviceWork& work : device.rows) {
    if (work.is_kernel() && is_within(time, work.interval.begin_ns)) {
      calls.push_back({trace, work.slice});
    }
  }
  return calls;
}

std::vector<SliceRef> host_calls_in(const trace::Trace& trace, uint32_t index, Interval time) {
  const trace::Slices& slices = trace.slices();
  std::vector<SliceRef> calls;
  for (uint32_t i = 0; i < trace.slice_count(); ++i) {
    if (trace::is_host_node(slices.category[i]) && is_within(time, slices.begin_ns[i])) {
      calls.push_back({index, {i}});
    }
  }
  return calls;
}

}  // namespace

ReportTables tables_of_step(const Session& session, const trace::Report& report,
                            const KernelOrigins& origins, TimeRef step) {
  trace::Report scoped;
  std::vector<SliceRef> kernels, host_calls;
  for (const trace::Analysis& analysis : report.analyses) {
    if (trace_of(session, analysis) != step.trace) continue;
    const auto found = std::ranges::find(
        analysis.steps, redline::Interval{step.begin_ns, step.end_ns}, &trace::Step::window);
    if (found == analysis.steps.end()) continue;
    const trace::Trace& trace = *analysis.trace;
    trace::Analysis& part = scoped.analyses.emplace_back();
    part.trace = analysis.trace;
    part.kernels = trace::kernel_table(trace, analysis.device_work, found->window);
    part.operators = trace::operator_table(trace, trace::NameKinds(trace), analysis.device_work,
                                           analysis.host_tree, found->host);
    part.communication = trace::communication_within(trace, analysis.communication.collectives,
                                                     analysis.host_tree, found->window);
    part.memory = trace::memory_peaks_within(trace, analysis.host_tree, found->host);
    scoped.traces.push_back(part);
    kernels = kernels_in(analysis.device_work, step.trace, found->window);
    host_calls = host_calls_in(trace, step.trace, found->host);
  }
  ReportTables tables;
  tables.kernels = kernel_rows(scoped, origins);
  tables.operators = operator_rows(scoped);
  tables.collectives = collective_rows(session, scoped);
  tables.memory = memory_rows(session, scoped);
  lead_to_longest(tables.kernels, session, kernels);
  lead_to_longest(tables.operators, session, host_calls);
  return tables;
}

}  // namespace redline::viewer
