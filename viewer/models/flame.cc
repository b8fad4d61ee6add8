#include "viewer/models/flame.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "trace/emit/name_kinds.h"
#include "viewer/models/format.h"
#include "viewer/models/tracks.h"

namespace redline::viewer {
namespace {

using trace::Lane;
using TrackRef = std::pair<uint32_t, uint32_t>;  // trace, track

constexpr std::string_view kAllSteps = "ProfilerStep";

/// The slices of a lane that reach into the area, and the boxes they belong to.
struct Level {
  LaneColumns columns;
  size_t first = 0;
  size_t end = 0;
  size_t cursor = 0;
  std::vector<uint32_t> nodes;

  /// The box of the slice around a time; the times must come in order.
  [[nodiscard]] std::optional<uint32_t> around(int64_t begin_ns, int64_t end_ns) {
    while (cursor < end && columns.end_ns[cursor] <= begin_ns) ++cursor;
    if (cursor == end || columns.begin_ns[cursor] > begin_ns || columns.end_ns[cursor] < end_ns) {
      return std::nullopt;
    }
    return nodes[cursor - first];
  }
};

class Gatherer {
 public:
  Gatherer(const Session& session, TimeRange range, const std::atomic<bool>* cancel)
      : session_(session), range_(range), cancel_(cancel), of_name_(session.traces().size()) {
    flame_.nodes.push_back({"all threads"});
  }

  void add_thread(TrackRef ref, const std::string& title) {
    const SessionTrace& source = session_.traces()[ref.first];
    const trace::Track& track = source.trace->tracks()[ref.second];
    const uint32_t thread = child_of(0, id_of(title), title, 0);
    std::vector<Level> levels(track.lane_count);
    for (uint32_t depth = 0; depth < track.lane_count && !is_cancelled(); ++depth) {
      const trace::LaneId lane{track.first_lane.value + depth};
      add_lane(ref.first, source.trace->lanes()[lane.value], thread, levels, depth);
    }
  }

  Flame finish() {
    std::vector<FlameNode>& nodes = flame_.nodes;
    for (size_t i = nodes.size(); i-- > 0;) {  // a box stands behind the one that it is in
      FlameNode& node = nodes[i];
      std::sort(node.children.begin(), node.children.end(), [&](uint32_t a, uint32_t b) {
        if (nodes[a].total_ns != nodes[b].total_ns) return nodes[a].total_ns > nodes[b].total_ns;
        return nodes[a].name < nodes[b].name;
      });
      const int64_t inside = sum_of(node.children);
      if (node.depth <= 1) node.total_ns = inside;
      node.self_ns = std::max<int64_t>(0, saturating_sub(node.total_ns, inside));
    }
    FlameNode& all = nodes.front();
    std::erase_if(all.children, [&](uint32_t thread) { return nodes[thread].children.empty(); });
    all.count = all.children.size();
    if (all.children.empty()) nodes.clear();
    return std::move(flame_);
  }

 private:
  [[nodiscard]] bool is_cancelled() const { return cancel_ && cancel_->load(); }

  [[nodiscard]] int64_t sum_of(const std::vector<uint32_t>& nodes) const {
    int64_t sum = 0;
    for (const uint32_t node : nodes) sum = saturating_sum(sum, flame_.nodes[node].total_ns);
    return sum;
  }

  void add_lane(uint32_t t, const Lane& lane, uint32_t thread, std::vector<Level>& levels,
                uint32_t depth) {
    const SessionTrace& source = session_.traces()[t];
    const int64_t begin = saturating_sum(range_.begin_ns, source.origin_ns);
    const int64_t end = saturating_sum(range_.end_ns, source.origin_ns);
    Level& level = levels[depth];
    level.columns = source.lane_columns(lane);
    const auto& [begins, ends, classes] = level.columns;
    level.first =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    level.end =
        static_cast<size_t>(std::lower_bound(begins.begin(), begins.end(), end) - begins.begin());
    for (Level& above : levels) above.cursor = above.first;
    for (size_t i = level.first; i < level.end; ++i) {
      if (i % 65'536 == 0 && is_cancelled()) return;
      uint32_t parent = thread;
      for (uint32_t up = depth; up-- > 0;) {
        const auto found = levels[up].around(begins[i], ends[i]);
        if (!found) continue;
        parent = *found;
        break;
      }
      const SliceRef slice{t, {lane.first.value + static_cast<uint32_t>(i)}};
      const uint32_t node = child_of(parent, slice, classes[i]);
      level.nodes.push_back(node);
      FlameNode& box = flame_.nodes[node];
      ++box.count;
      box.total_ns = saturating_sum(
          box.total_ns, saturating_sub(std::min(ends[i], end), std::max(begins[i], begin)));
    }
  }

  uint32_t id_of(std::string_view name) {
    return by_text_.try_emplace(std::string(name), static_cast<uint32_t>(by_text_.size()))
        .first->second;
  }

  uint32_t child_of(uint32_t parent, SliceRef slice, uint8_t slice_class) {
    const trace::Trace& trace = *session_.traces()[slice.trace].trace;
    const trace::StringId id = trace.slices().name[slice.slice.value];
    std::string_view name = trace.string(id);
    if (trace::is_step_name(name)) name = kAllSteps;
    std::vector<uint32_t>& known = of_name_[slice.trace];
    if (known.empty()) known.assign(trace.string_count() + 1, UINT32_MAX);
    uint32_t& text = known[id ? id.value : trace.string_count()];
    if (text == UINT32_MAX) text = id_of(name);
    return child_of(parent, text, name, slice_class);
  }

  uint32_t child_of(uint32_t parent, uint32_t text, std::string_view name, uint8_t slice_class) {
    const uint64_t key = uint64_t{parent} << 32 | text;
    const auto [found, is_new] =
        by_stack_.try_emplace(key, static_cast<uint32_t>(flame_.nodes.size()));
    if (is_new) {
      const uint32_t depth = flame_.nodes[parent].depth + 1;
      flame_.nodes[parent].children.push_back(found->second);
      flame_.nodes.push_back(
          {name.empty() ? "(no name)" : printable(name), slice_class, parent, depth});
    }
    return found->second;
  }

  const Session& session_;
  TimeRange range_;
  const std::atomic<bool>* cancel_;
  Flame flame_;
  std::vector<std::vector<uint32_t>> of_name_;  // index of the text, by trace and StringId
  std::unordered_map<std::string, uint32_t> by_text_;
  std::unordered_map<uint64_t, uint32_t> by_stack_;
};

std::map<TrackRef, std::string> thread_titles(const Session& session) {
  std::map<TrackRef, std::string> titles;
  for (const TrackGroup& group : track_groups(session)) {
    for (const TrackItem& item : group.tracks) {
      std::string title = group.title + " · " + item.title;
      if (!item.note.empty()) title += " · " + item.note;
      titles.emplace(TrackRef{group.trace, item.track.value}, std::move(title));
    }
  }
  return titles;
}

void add_boxes(const Flame& flame, uint32_t index, double left, double width,
               std::vector<FlameBox>& boxes) {
  const FlameNode& node = flame.node(index);
  int64_t inside = 0;
  for (const uint32_t child : node.children) {
    inside = saturating_sum(inside, flame.node(child).total_ns);
  }
  // Slices that only overlap can be longer together than what is around them.
  const double whole = static_cast<double>(std::max({node.total_ns, inside, int64_t{1}}));
  for (const uint32_t child : node.children) {
    const double room = width * static_cast<double>(flame.node(child).total_ns) / whole;
    if (room < 1) break;  // those that follow are not longer
    boxes.push_back({child, flame.node(child).depth, left, room});
    add_boxes(flame, child, left, room, boxes);
    left += room;
  }
}

}  // namespace

Flame flame_of(const Session& session, const Area& area, const std::atomic<bool>* cancel) {
  std::set<TrackRef> threads;
  for (const LaneHit& hit : area.lanes) {
    const trace::Trace& trace = *session.traces()[hit.trace].trace;
    const trace::TrackId track = trace.lanes()[hit.lane.value].track;
    if (trace.tracks()[track.value].kind == trace::TrackKind::kCpuThread) {
      threads.insert({hit.trace, track.value});
    }
  }
  const auto titles = thread_titles(session);
  Gatherer gatherer(session, area.range, cancel);
  for (const TrackRef& thread : threads) {
    const auto title = titles.find(thread);
    if (title != titles.end()) gatherer.add_thread(thread, title->second);
  }
  return gatherer.finish();
}

std::vector<FlameBox> flame_boxes(const Flame& flame, uint32_t zoomed, double width) {
  std::vector<FlameBox> boxes;
  if (zoomed >= flame.nodes.size()) return boxes;
  for (uint32_t node = zoomed;; node = flame.node(node).parent) {
    boxes.insert(boxes.begin(), {node, flame.node(node).depth, 0, width});
    if (node == 0) break;
  }
  add_boxes(flame, zoomed, 0, width, boxes);
  return boxes;
}

Table flame_table(const Flame& flame) {
  Table table{"Flame",
              {{"Stack", Unit::kText},
               {"Calls", Unit::kCount},
               {"Total", Unit::kDuration},
               {"Self", Unit::kDuration}},
              {}};
  std::vector<std::string> stacks(flame.nodes.size());
  for (uint32_t i = 1; i < flame.nodes.size(); ++i) {
    const FlameNode& node = flame.node(i);
    stacks[i] = (node.depth > 1 ? stacks[node.parent] + "; " : "") + node.name;
    if (node.depth == 1) continue;
    table.rows.push_back(
        {{stacks[i], static_cast<int64_t>(node.count), node.total_ns, node.self_ns}, {}, {}});
  }
  return table;
}

}  // namespace redline::viewer
