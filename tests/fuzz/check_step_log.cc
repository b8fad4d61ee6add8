#include "tests/fuzz/check_step_log.h"

#include <algorithm>

#include "trace/emit/step_log_blocks.h"
#include "trace/emit/step_log_writer.h"
#include "trace/read/step_log_reader.h"
#include "trace/report/report.h"
#include "trace/run/verdict.h"

namespace redline::fuzz {
namespace {

using trace::LoggedStep;

std::string broken_steps(const trace::StepLog& log) {
  int64_t next_step = 0, next_ns = 0;
  for (const LoggedStep& step : log.steps) {
    if (step.steps < 1 || step.length_ns < 0) return "a step without a length";
    if (step.step < next_step) return "steps that go back";
    if (step.begin_ns < next_ns) return "steps that lie within each other";
    if (step.samples < trace::kUnseen || step.tokens < trace::kUnseen)
      return "fewer than no samples";
    next_step = step.step + step.steps;
    next_ns = step.end_ns();
  }
  return "";
}

std::string broken_thinning(const trace::StepLog& log, std::string_view bytes) {
  const std::string thinned = trace::thinned_log(bytes);
  if (thinned.empty()) return "";
  const auto again = trace::parse_step_log("thinned", thinned);
  if (!again) return "a log that is unreadable once it is thinned out";
  if (again->damaged_bytes != 0) return "damage by thinning out";
  if (again->lost_steps != log.lost_steps) return "losses that thinning out forgets";
  return broken_steps(*again);
}

}  // namespace

std::string broken_step_log(std::string_view bytes) {
  const auto log = trace::parse_step_log("fuzz", bytes);
  if (!log) return "";
  if (log->damaged_bytes < 0 || log->damaged_bytes > static_cast<int64_t>(bytes.size())) {
    return "more damage than bytes";
  }
  if (auto broken = broken_steps(*log); !broken.empty()) return broken;
  trace::Report report;
  report.run = trace::judge_run({trace::summarise(*log)}, log->last_sign_ns);
  if (report.run) {
    (void)trace::report_text(report, {});
    (void)trace::report_json(report);
    (void)trace::report_html(report);
  }
  return broken_thinning(*log, bytes);
}

std::string in_sound_blocks(std::string_view bytes) {
  std::string log;
  while (bytes.size() > 2) {
    const size_t wanted = static_cast<uint8_t>(bytes[0]) + 256U * static_cast<uint8_t>(bytes[1]);
    bytes.remove_prefix(2);
    const size_t size = std::min(wanted, bytes.size());
    log += trace::frame_of(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return log;
}

}  // namespace redline::fuzz
