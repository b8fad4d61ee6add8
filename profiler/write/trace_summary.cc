#include "profiler/write/trace_summary.h"

#include <string>

#include "profiler/c_api.h"

namespace redline::profiler {
namespace {

/// The members of a JSON object, to go on after others.
std::string added_members(const std::string& object) {
  const size_t begin = object.find('{') + 1;
  const std::string members = object.substr(begin, object.rfind('}') - begin);
  return members.find('"') == std::string::npos ? "" : ", " + members;
}

}  // namespace

std::vector<trace::Entry> closing_entries(const TraceSummary& summary,
                                          const std::vector<trace::Entry>& entries) {
  std::string about = std::string("{\"version\": \"") + redline_version() +
                      "\", \"events\": " + std::to_string(summary.events) +
                      ", \"dropped\": " + std::to_string(summary.dropped) +
                      ", \"dropped_names\": " + std::to_string(summary.dropped_names) +
                      ", \"threads\": " + std::to_string(summary.threads) +
                      ", \"unfinished\": " + std::to_string(summary.unfinished);
  std::vector<trace::Entry> result;
  for (const auto& [key, json] : entries) {
    if (key == kOwnEntry) {
      about += added_members(json);
    } else {
      result.emplace_back(key, json);
    }
  }
  result.emplace_back(kOwnEntry, about + "}");
  return result;
}

}  // namespace redline::profiler
