#include "viewer/models/details.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trace/model/category.h"
#include "viewer/models/format.h"
#include "viewer/models/search.h"

namespace redline::viewer {
namespace {

using json = nlohmann::ordered_json;  // arguments stay in the file's order

constexpr size_t kMaxValue = 4000;  // characters of one value
constexpr size_t kMaxArguments = 1000;
constexpr int kMaxDepth = 64;  // nlohmann prints by recursion

int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

std::string shortened(std::string text) {
  if (text.size() <= kMaxValue) return printable(text);
  const std::string size = format_bytes(text.size());
  text.resize(kMaxValue);
  return fmt::format("{}… ({})", printable(text), size);
}

// Frames one a line, as a stack is read; Kineto writes them one behind the other.
std::string stack_text(std::string frames) {
  std::string text = shortened(std::move(frames));
  for (size_t at = 0; (at = text.find(';', at)) != std::string::npos; ++at) text[at] = '\n';
  return text;
}

std::string value_text(const json& value) {
  if (value.is_string()) return shortened(value.get_ref<const std::string&>());
  return shortened(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

void append(std::vector<DetailField>& fields, const std::string& prefix, const json& object) {
  for (const auto& [key, value] : object.items()) {
    if (fields.size() >= kMaxArguments) return;
    const std::string name = prefix + printable(key);
    if (value.is_object() && !value.empty()) {
      append(fields, name + ".", value);
    } else if (key == "Call stack" && value.is_string()) {
      fields.push_back({name, stack_text(value.get<std::string>())});
    } else {
      fields.push_back({name, value_text(value)});
    }
  }
}

}  // namespace

std::vector<DetailField> event_arguments(std::string_view event_text) {
  std::vector<DetailField> fields;
  const auto whole = [&] {
    return std::vector<DetailField>{{"event", shortened(std::string(event_text))}};
  };
  if (event_text.empty()) return fields;
  if (depth_of(event_text) > kMaxDepth) return whole();
  const auto event = json::parse(event_text, nullptr, false);
  if (!event.is_object()) return whole();
  const auto arguments = event.find("args");
  if (arguments == event.end()) return fields;
  if (!arguments->is_object()) return {{"args", value_text(*arguments)}};
  append(fields, "", *arguments);
  return fields;
}

SliceDetails slice_details(const Session& session, SliceRef ref) {
  const SessionTrace& item = session.traces()[ref.trace];
  const trace::Trace& trace = *item.trace;
  const trace::Slices& slices = trace.slices();
  const TimeRange range = session.range_of(ref);
  const trace::Track& track = trace.tracks()[session.lane_of(ref).track.value];

  SliceDetails details;
  details.name = printable(session.name_of(ref));
  details.fields = {
      {"Category", std::string(trace::category_name(slices.category[ref.slice.value]))},
      {"Start", fmt::format("+{}", format_duration_exact(range.begin_ns))},
      {"Duration", format_duration_exact(range.span_ns())},
      {"Trace", printable(item.title.empty() ? session.name() : item.title)},
      {"Process", printable(trace.string(track.pid))},
      {track.kind == trace::TrackKind::kGpuStream ? "Stream" : "Thread",
       printable(trace.string(track.tid))},
      {"Unix time", std::to_string(slices.begin_ns[ref.slice.value]) + " ns"},
  };
  details.arguments = event_arguments(trace.event_text(ref.slice));
  return details;
}

}  // namespace redline::viewer
