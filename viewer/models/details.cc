#include "viewer/models/details.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_values.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"
#include "trace/read/text_cursor.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/format.h"
#include "viewer/models/host_stack.h"
#include "viewer/models/search.h"
#include "viewer/models/session_report.h"

namespace redline::viewer {
namespace {

using json = nlohmann::ordered_json;  // keeps arguments in the file's order

constexpr size_t kMaxValue = 4000;  // characters of one value
constexpr size_t kMaxArguments = 1000;
constexpr int kMaxDepth = 64;  // nlohmann prints recursively

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

// Puts each frame on a line of its own. Kineto writes all frames on one line.
std::string stack_text(std::string frames) {
  std::string text = shortened(std::move(frames));
  for (size_t at = 0; (at = text.find(';', at)) != std::string::npos; ++at) text[at] = '\n';
  return text;
}

std::string value_text(const json& value) {
  if (value.is_string()) return shortened(value.get_ref<const std::string&>());
  return shortened(json_text(value));
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
  const trace::Track& track = trace::track_of(trace, ref.slice);

  SliceDetails details;
  details.name = whole_text(name_value(session, ref), Unit::kName);
  details.fields = {
      {"Category", std::string(trace::category_name(slices.category[ref.slice.value]))},
      {"Start", format_time_exact(range.begin_ns)},
      {"Duration", format_duration_exact(range.span_ns())},
      {"Trace", printable(item.title.empty() ? session.name() : item.title)},
      {"Process", printable(trace.string(track.pid))},
      {track.kind == trace::TrackKind::kGpuStream ? "Stream" : "Thread",
       printable(trace.string(track.tid))},
      {"Unix time", std::to_string(slices.begin_ns[ref.slice.value]) + " ns"},
  };
  if (trace.text().is_changed()) {
    details.arguments = {{"arguments", "not known: the file has changed since it was read (F5)"}};
  } else {
    details.arguments = event_arguments(event_text(trace, ref.slice));
  }
  return details;
}

namespace {

LinkKind kind_of(trace::FlowKind kind) {
  switch (kind) {
    case trace::FlowKind::kLaunch:
      return LinkKind::kLaunch;
    case trace::FlowKind::kForwardBackward:
      return LinkKind::kForwardBackward;
    case trace::FlowKind::kOther:
      break;
  }
  return LinkKind::kOther;
}

class LinkFinder {
 public:
  LinkFinder(const Session& session, SliceRef ref, size_t most)
      : trace_(*session.traces()[ref.trace].trace), ref_(ref), most_(most) {}

  void add_into() {
    for (const trace::Flow& flow : trace_.flows()) {
      if (flow.to == ref_.slice && links_.size() < most_) add(flow);
    }
  }
  // Launches of a lane stand by time, so the first ones are enough.
  void add_out_of(uint32_t first, uint32_t end) {
    const size_t most = links_.size() + most_;
    const auto flows = trace_.flows();
    auto flow = std::lower_bound(
        flows.begin(), flows.end(), first,
        [](const trace::Flow& left, uint32_t slice) { return left.from.value < slice; });
    for (; flow != flows.end() && flow->from.value < end && links_.size() < most; ++flow) {
      add(*flow);
    }
  }
  // What a slice of a thread called lies in the deeper lanes, within the slice's time.
  void add_of_called() {
    const trace::Slices& slices = trace_.slices();
    const trace::Lane& own = trace_.lanes()[slices.lane[ref_.slice.value].value];
    const trace::Track& track = trace_.tracks()[own.track.value];
    if (track.kind == trace::TrackKind::kGpuStream) return;
    const int64_t begin = slices.begin_ns[ref_.slice.value];
    const int64_t end = slices.end_ns[ref_.slice.value];
    for (const trace::Lane& lane : trace::lanes_of(trace_, track).subspan(own.depth + 1)) {
      const auto begins = trace::of_lane(slices.begin_ns, lane);
      const auto first = std::lower_bound(begins.begin(), begins.end(), begin);
      const auto last = std::lower_bound(first, begins.end(), end);
      add_out_of(lane.first.value + static_cast<uint32_t>(first - begins.begin()),
                 lane.first.value + static_cast<uint32_t>(last - begins.begin()));
    }
  }
  /// By the time of the other slice.
  std::vector<Link> take() {
    const auto begin = [this](const Link& link) {
      const SliceRef other = link.to == ref_ ? link.from : link.to;
      return trace_.slices().begin_ns[other.slice.value];
    };
    std::ranges::stable_sort(links_, {}, begin);
    if (links_.size() > most_) links_.resize(most_);
    return std::move(links_);
  }

 private:
  void add(const trace::Flow& flow) {
    if (!flow.from || !flow.to) return;
    links_.push_back({{ref_.trace, flow.from}, {ref_.trace, flow.to}, kind_of(flow.kind)});
  }

  const trace::Trace& trace_;
  SliceRef ref_;
  size_t most_;
  std::vector<Link> links_;
};

}  // namespace

CollectiveLinks::CollectiveLinks(const Session& session, const trace::Report& report) {
  if (!report.comparison) return;
  std::vector<std::optional<uint32_t>> traces;
  for (size_t rank = 0; rank < report.comparison->times.size(); ++rank) {
    const auto trace = trace_at(session, report, report.compared[rank]);
    const bool is_loaded = trace && session.traces()[*trace].is_loaded;
    traces.push_back(is_loaded ? trace : std::nullopt);
  }
  const auto& collectives = report.comparison->matched.collectives;
  for (uint32_t c = 0; c < collectives.size(); ++c) {
    for (const auto& call : collectives[c].calls) {
      if (traces[call.rank]) by_collective_.push_back({{*traces[call.rank], call.slice}, c});
    }
  }
  calls_ = by_collective_;
  std::ranges::sort(calls_, {}, &Call::ref);
}

std::vector<SliceRef> CollectiveLinks::calls_of(SliceRef ref) const {
  const auto found = std::ranges::lower_bound(calls_, ref, {}, &Call::ref);
  std::vector<SliceRef> refs;
  if (!ref || found == calls_.end() || found->ref != ref) return refs;
  auto call = std::ranges::lower_bound(by_collective_, found->collective, {}, &Call::collective);
  for (; call != by_collective_.end() && call->collective == found->collective; ++call) {
    refs.push_back(call->ref);
  }
  return refs;
}

std::vector<Link> links_of(const Session& session, const CollectiveLinks& collectives, SliceRef ref,
                           size_t most) {
  if (!ref) return {};
  LinkFinder finder(session, ref, most);
  finder.add_into();
  finder.add_out_of(ref.slice.value, ref.slice.value + 1);
  finder.add_of_called();
  std::vector<Link> links = finder.take();
  for (const SliceRef call : collectives.calls_of(ref)) {
    if (call != ref && links.size() < most) links.push_back({ref, call, LinkKind::kCollective});
  }
  return links;
}

std::string link_text(const Link& link, SliceRef of) {
  const bool into = link.to == of;
  switch (link.kind) {
    case LinkKind::kLaunch:
      return into ? "launched by" : "launches";
    case LinkKind::kForwardBackward:
      return into ? "backward of" : "backward pass";
    case LinkKind::kCollective:
      return "same call";
    case LinkKind::kOther:
      break;
  }
  return into ? "follows" : "leads to";
}

namespace {

struct Around {
  const char* what;
  trace::SliceId slice;
};

// The innermost slice of each kind that the slice of a thread stands in, the innermost first.
std::vector<Around> found_around(const trace::Trace& trace, trace::SliceId slice) {
  std::vector<Around> found;
  const auto add = [&](const char* what, trace::SliceId one) {
    if (std::ranges::find(found, what, &Around::what) == found.end()) found.push_back({what, one});
  };
  for (const trace::SliceId one : host_stack(trace, slice)) {
    const trace::Category category = trace.slices().category[one.value];
    const std::string_view name = trace::name_of(trace, one);
    if (category == trace::Category::kCpuOp) {
      add("in operator", one);
    } else if (category == trace::Category::kPythonFunction) {
      add(name.starts_with("nn.Module: ") ? "in module" : "in Python", one);
    } else if (category == trace::Category::kUserAnnotation) {
      add(trace::is_step_name(name) ? "in step" : "in annotation", one);
    }
  }
  return found;
}

}  // namespace

Table link_rows(const Session& session, const std::vector<Link>& links, SliceRef of) {
  Table table{
      "Links", {{"Slice", Unit::kName}, {"Link", Unit::kText}, {"After", Unit::kChange}}, {}};
  const auto add = [&](SliceRef other, std::string kind) {
    const int64_t after =
        saturating_sub(session.range_of(other).begin_ns, session.range_of(of).begin_ns);
    table.rows.push_back({{name_value(session, other), std::move(kind), after}, other, {}});
  };
  if (!of) return table;
  const auto launch = std::ranges::find_if(
      links, [of](const Link& link) { return link.kind == LinkKind::kLaunch && link.to == of; });
  const trace::SliceId on_host = launch == links.end() ? of.slice : launch->from.slice;
  const trace::Trace& trace = *session.traces()[of.trace].trace;
  const std::vector<Around> nearest = found_around(trace, on_host);
  for (const Around& around : nearest) add({of.trace, around.slice}, around.what);
  for (const Link& link : links) {
    const SliceRef other = link.to == of ? link.from : link.to;
    const std::string kind = link_text(link, of);
    const std::string& rank = session.traces()[other.trace].title;
    add(other, other.trace == of.trace ? kind : rank + ", " + kind);
  }
  for (const trace::SliceId frame : host_stack(trace, on_host)) {  // the rest of the Python stack
    const bool is_known = std::ranges::find(nearest, frame, &Around::slice) != nearest.end();
    const bool is_python = trace.slices().category[frame.value] == trace::Category::kPythonFunction;
    if (is_python && !is_known) add({of.trace, frame}, "in Python");
  }
  return table;
}

}  // namespace redline::viewer
