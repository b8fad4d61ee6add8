// Reads any bytes as a plain trace. They must be refused, or give a trace that keeps its promises
// and can be reported on.
#include <cstdint>

#include "tests/fuzz/check_trace.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace =
      redline::trace::parse_trace("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  redline::fuzz::require_none(redline::fuzz::broken_promise(**trace));
  const redline::trace::Report report = redline::trace::make_report({*trace});
  (void)redline::trace::report_text(report, {});
  (void)redline::trace::report_json(report);
  return 0;
}
