#include "viewer/models/step_scope.h"

#include <algorithm>

#include "trace/analysis/tables_within.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/report_tables.h"

namespace redline::viewer {

StepScope tables_of_step(const Session& session, const trace::Report& report,
                         const KernelOrigins& origins, TimeRef step) {
  trace::Report scoped;
  for (const trace::Analysis& analysis : report.traces) {
    if (trace_of(session, analysis) != step.trace) continue;
    const auto found = std::find_if(
        analysis.steps.begin(), analysis.steps.end(), [&step](const trace::Step& each) {
          return each.window == redline::Interval{step.begin_ns, step.end_ns};
        });
    if (found == analysis.steps.end()) continue;
    const trace::Trace& trace = *analysis.trace;
    trace::Analysis& part = scoped.traces.emplace_back();
    part.trace = analysis.trace;
    part.kernels = trace::kernel_table_within(trace, analysis.device_work, found->window);
    part.operators = trace::operator_table_within(
        trace, trace::NameKinds(trace), analysis.device_work, analysis.host_tree, found->host);
    part.communication = trace::communication_within(trace, analysis.communication.collectives,
                                                     analysis.host_tree, found->window);
    part.memory = trace::memory_peaks_within(trace, analysis.host_tree, found->host);
  }
  return {kernel_rows(scoped, origins), operator_rows(scoped), collective_rows(session, scoped),
          memory_rows(session, scoped)};
}

}  // namespace redline::viewer
