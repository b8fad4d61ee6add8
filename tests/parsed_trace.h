// Makes the trace, its analysis and its advice of a small trace's text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/trace_text.h"
#include "trace/advice/advice.h"
#include "trace/analysis/analysis.h"
#include "trace/read/reader.h"

namespace redline::testing {

/// The trace of the text; null if it is none.
inline std::shared_ptr<const trace::Trace> parsed(const std::string& json) {
  auto trace = trace::parse_trace("test", json);
  return trace ? *trace : nullptr;
}

/// A recording of real people (shared/traces); null where there are none.
inline std::shared_ptr<const trace::Trace> real_trace(const std::string& name) {
  const std::string path = shared_dir() + "/traces/" + name + ".pt.trace.json.gz";
  if (!std::filesystem::exists(path)) return nullptr;
  auto trace = trace::read_trace(path);
  EXPECT_TRUE(trace) << path;
  return trace ? *trace : nullptr;
}

/// By name, how often each issue was met.
inline std::map<std::string, uint64_t> issues_of(const trace::Trace& trace) {
  std::map<std::string, uint64_t> counts;
  for (const trace::LoadIssue& issue : trace.issues())
    counts[std::string(issue.info().name)] = issue.count;
  return counts;
}

inline trace::Analysis analysis_of(const TraceText& text) {
  const auto trace = parsed(text.str());
  EXPECT_TRUE(trace);
  return trace::analyze(trace);
}

inline std::vector<trace::Finding> advice_on(const TraceText& text) {
  return trace::advise(analysis_of(text));
}

/// The finding of that rule; an empty one, and a failure, if there is none.
inline const trace::Finding& only(const std::vector<trace::Finding>& findings,
                                  const std::string& rule) {
  for (const trace::Finding& finding : findings) {
    if (finding.rule == rule) return finding;
  }
  static const trace::Finding kNone;
  ADD_FAILURE() << "no finding " << rule;
  return kNone;
}

/// A finding with all that it says, a line for each piece of evidence and each event.
inline std::string whole(const trace::Finding& finding) {
  std::string detail = finding.detail;
  for (size_t at = 0; (at = detail.find_first_of(":;", at)) != std::string::npos; ++at) {
    if (detail[at + 1] == ' ') detail.replace(at + 1, 1, "\n  ");
  }
  std::string text =
      fmt::format("{} {} x {} [{}]\n{}\n{}\n", finding.rule, trace::severity_name(finding.severity),
                  finding.estimated_speedup ? fmt::format("{:.6g}", *finding.estimated_speedup)
                                            : std::string("?"),
                  finding.knob, finding.headline, detail);
  for (const auto& [name, value] : finding.evidence) {
    text += fmt::format("{}{} {:.6g}", text.ends_with('\n') ? "" : ", ", name, value);
  }
  text += '\n';
  for (const trace::EvidenceEvent& event : finding.events) {
    text += fmt::format("{} {}..{} us\n", event.name, event.begin_ns / kUs, event.end_ns / kUs);
  }
  return text;
}

/// The finding of the rule in full; "" if the rule is silent.
inline std::string said(const TraceText& text, const std::string& rule) {
  for (const trace::Finding& finding : advice_on(text)) {
    if (finding.rule == rule) return whole(finding);
  }
  return "";
}

inline auto HasRule(const std::string& rule) {
  return ::testing::Contains(::testing::Field(&trace::Finding::rule, rule));
}

}  // namespace redline::testing
