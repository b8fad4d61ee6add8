#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "base/json_values.h"
#include "base/printable.h"
#include "trace/model/slice_class.h"
#include "trace/model/slice_view.h"
#include "trace/report/report_html.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

// Holds each name once, as [name, SliceClass]. The class is the index of its colour in the page's
// script.
class Names {
 public:
  explicit Names(const Trace& trace) : trace_(trace) {}

  size_t index_of(SliceId slice) {
    const Category category = trace_.slices().category[slice.value];
    const uint64_t key =
        (uint64_t{trace_.slices().name[slice.value].value} << 8) | static_cast<uint64_t>(category);
    const auto [found, is_new] = index_.try_emplace(key, index_.size());
    if (is_new) {
      const std::string_view name = name_of(trace_, slice);
      list_.push_back(
          {printable(name.substr(0, kLongestName)), static_cast<int>(classify(category, name))});
    }
    return found->second;
  }

  [[nodiscard]] const json& list() const { return list_; }

 private:
  static constexpr size_t kLongestName = 300;

  const Trace& trace_;
  std::unordered_map<uint64_t, size_t> index_;
  json list_ = json::array();
};

// Three numbers for each slice, in one flat list: its begin (from the begin of the slice before),
// its length and its name.
json lane_json(const DrawnLane& lane, Interval window, Names& names) {
  json numbers = json::array();
  int64_t at_ns = window.begin_ns;
  for (const DrawnSlice& drawn : lane.slices) {
    numbers.push_back(drawn.interval.begin_ns - at_ns);
    numbers.push_back(drawn.interval.length_ns());
    numbers.push_back(names.index_of(drawn.slice));
    at_ns = drawn.interval.begin_ns;
  }
  return {{"title", printable(lane.title)},
          {"note", printable(lane.note)},
          {"depth", lane.depth},
          {"slices", numbers}};
}

json rank_json(const RankLane& lane, Interval window) {
  json numbers = json::array();
  for (const DeviceSpan& span : lane.spans) {
    numbers.push_back(span.interval.begin_ns - window.begin_ns);
    numbers.push_back(span.interval.length_ns());
    numbers.push_back(static_cast<int>(span.state));
  }
  return {{"title", printable(lane.title)}, {"spans", numbers}};
}

// In a script element "</" and "<!--" would end or change the text, so every '<' is escaped.
std::string for_script_element(std::string text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string timeline_json(const PageTimeline& timeline) {
  if (!timeline.trace) return "{}";
  Names names(*timeline.trace);
  json object;
  object["length"] = timeline.window.length_ns();
  object["lanes"] = list_json(timeline.lanes, [&](const DrawnLane& lane) {
    return lane_json(lane, timeline.window, names);
  });
  object["ranks"] = list_json(
      timeline.ranks, [&](const RankLane& lane) { return rank_json(lane, timeline.window); });
  object["names"] = names.list();
  object["evidence"] = list_json(timeline.evidence, [&](const auto& event) {
    return event ? json{event->begin_ns - timeline.window.begin_ns, event->end_ns - event->begin_ns,
                        printable(event->name)}
                 : json();
  });
  return for_script_element(object.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace redline::trace
