#include "viewer/models/step_scope.h"

#include <algorithm>

#include "trace/analysis/tables.h"
#include "viewer/models/collectives_table.h"

namespace redline::viewer {

ReportTables tables_of_step(const Session& session, const trace::Report& report,
                            const KernelOrigins& origins, TimeRef step) {
  trace::Report scoped;
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
  }
  ReportTables tables;
  tables.kernels = kernel_rows(scoped, origins);
  tables.operators = operator_rows(scoped);
  tables.collectives = collective_rows(session, scoped);
  tables.memory = memory_rows(session, scoped);
  return tables;
}

}  // namespace redline::viewer
