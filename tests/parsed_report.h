// Makes the report on the texts of small traces.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "trace/read/reader.h"
#include "trace/report/report.h"

namespace redline::testing {

/// Of the files run/rank0.json, run/rank1.json and so on, in this order.
inline trace::Report report_on(const std::vector<std::string>& texts) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const std::string& text : texts) {
    traces.push_back(*trace::parse_trace(fmt::format("run/rank{}.json", traces.size()), text));
  }
  return trace::make_report(traces);
}

}  // namespace redline::testing
