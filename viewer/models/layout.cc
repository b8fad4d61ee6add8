#include "viewer/models/layout.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr size_t kManyGraphs = 8;  // a group with more counters than this begins folded

constexpr double kHostShare = 0.5;  // of a view in which not all fits, at least

std::string group_key(const TrackGroup& group) { return group.title + "|" + group.note; }

int height_of(const TrackItem& item, uint32_t lanes) {
  switch (item.kind) {
    case TrackItem::Kind::kRuntime:
    case TrackItem::Kind::kMarks:
    case TrackItem::Kind::kDevice:
      return Layout::kDeviceHeight;
    case TrackItem::Kind::kGraph:
      return Layout::kGraphHeight;
    case TrackItem::Kind::kSlices:
      break;
  }
  const int height = static_cast<int>(lanes) * Layout::kLaneHeight + Layout::kTrackPadding;
  return std::max(height, Layout::kMinTrackHeight);
}

// Tracks with the same name get a number, which they keep wherever they are moved.
void number_tracks(std::vector<TrackGroup>& groups) {
  for (TrackGroup& group : groups) {
    std::map<std::pair<TrackItem::Kind, std::string_view>, int32_t> counts;
    for (TrackItem& item : group.tracks) {
      const int32_t same = counts[{item.kind, item.title}]++;
      if (item.same < 0) item.same = same;
    }
  }
}

}  // namespace

Layout::Layout(const Session& session, int height) : groups_(track_groups(session)) {
  number_tracks(groups_);
  for (const RowId id : all_ids()) {
    if (id.track < 0 && groups_[id.group].background) arrangement_.folded.insert(key_of(id));
  }
  place();
  // One trace keeps its threads open if the GPUs are in sight all the same.
  if ((session.traces().size() < 2 ? gpu_rows_end() : height_) <= height) return;
  for (const RowId id : all_ids()) {
    if (id.track >= 0 && !item_of({id}).main) arrangement_.folded.insert(key_of(id));
  }
  place();
}

std::vector<RowId> Layout::all_ids() const {
  std::vector<RowId> ids;
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    for (int32_t i = -1; i < static_cast<int32_t>(groups_[g].tracks.size()); ++i) {
      ids.push_back({g, i});
    }
  }
  return ids;
}

void Layout::take_over(const Layout& before) {
  std::set<std::string> known;
  for (const RowId id : before.all_ids()) known.insert(before.key_of(id));
  Arrangement arrangement = before.arrangement_;
  for (const std::string& key : arrangement_.folded) {
    if (!known.contains(key)) arrangement.folded.insert(key);
  }
  filter_ = before.filter_;
  arrange(std::move(arrangement));
  is_arranged_ = before.is_arranged_;
}

void Layout::set_state(uint32_t trace, const std::string& words) {
  for (TrackGroup& group : groups_) {
    if (group.trace == trace && !group.is_loaded) group.busy = words;
  }
}

int Layout::gpu_rows_end() const {
  int end = 0;
  for (const Row& row : rows_) {
    if (group_of(row).device >= 0) end = row.top + row.height;
  }
  return end;
}

int Layout::first_scroll(int view_height) const {
  const Row* first = nullptr;
  const Row* last = nullptr;  // of what the GPU did; its graphs may be out of sight
  for (const Row& row : rows_) {
    if (group_of(row).device < 0 || row.pinned) continue;
    if (!first) first = &row;
    if (row.id.group != first->id.group) break;
    if (row.is_header() || item_of(row).kind != TrackItem::Kind::kGraph) last = &row;
  }
  if (!first) return 0;
  // Above the GPU stays what launched its work.
  const int host = first->top - static_cast<int>(view_height * kHostShare);
  return std::max(0, std::min(last->top + last->height - view_height, host));
}

void Layout::add(const Session& session, const DerivedTracks& derived) {
  add_derived(groups_, session, derived);
  number_tracks(groups_);
  for (uint32_t g = 0; !is_arranged_ && g < groups_.size(); ++g) {
    if (groups_[g].only_graphs && groups_[g].tracks.size() > kManyGraphs) {
      arrangement_.folded.insert(key_of({g, -1}));
    }
  }
  sort_groups();
  place();
}

std::string Layout::key_of(RowId row) const {
  const TrackGroup& group = groups_[row.group];
  if (row.track < 0) return group_key(group);
  const TrackItem& item = group.tracks[static_cast<size_t>(row.track)];
  return group_key(group) + "/" + item.title + (item.same ? "#" + std::to_string(item.same) : "");
}

bool Layout::passes_filter(const TrackGroup& group, const TrackItem& item) const {
  if (filter_.empty()) return true;
  const auto has = [this](const std::string& text) { return contains_text(text, filter_); };
  return has(item.title) || has(item.note) || has(group.title) || has(group.note);
}

void Layout::add_row(RowId id, bool pinned) {
  const TrackGroup& group = groups_[id.group];
  Row row{id, group.trace, height_};
  row.pinned = pinned;
  row.folded = !group.is_loaded || arrangement_.folded.contains(key_of(id));
  if (id.track < 0) {
    row.height = kHeaderHeight;
    row.can_fold = true;
  } else {
    const TrackItem& item = group.tracks[static_cast<size_t>(id.track)];
    row.can_fold = item.lanes > 1;
    row.lanes = row.folded ? 1 : item.lanes;
    row.height = height_of(item, row.lanes);
  }
  height_ += row.height;
  rows_.push_back(row);
}

void Layout::place() {
  rows_.clear();
  height_ = 0;
  place_pinned();
  pinned_height_ = height_;
  for (uint32_t g = 0; g < groups_.size(); ++g) place_group(g);
}

void Layout::place_pinned() {
  if (arrangement_.pinned.empty()) return;
  std::unordered_map<std::string, RowId> rows;
  for (const RowId id : all_ids()) {
    if (id.track >= 0) rows.emplace(key_of(id), id);
  }
  for (const std::string& key : arrangement_.pinned) {
    if (const auto row = rows.find(key); row != rows.end()) add_row(row->second, true);
  }
}

void Layout::place_group(uint32_t g) {
  const TrackGroup& group = groups_[g];
  const RowId header{g, -1};
  if (arrangement_.hidden.contains(key_of(header))) return;
  if (!group.is_loaded) {
    if (filter_.empty() || contains_text(group.title, filter_)) add_row(header, false);
    return;
  }
  std::vector<RowId> shown;
  for (int32_t i = 0; i < static_cast<int32_t>(group.tracks.size()); ++i) {
    const std::string key = key_of({g, i});
    const auto& pinned = arrangement_.pinned;
    if (arrangement_.hidden.contains(key) ||
        !passes_filter(group, group.tracks[static_cast<size_t>(i)]) ||
        std::find(pinned.begin(), pinned.end(), key) != pinned.end()) {
      continue;
    }
    shown.push_back({g, i});
  }
  if (shown.empty()) return;
  add_row(header, false);
  // While the user filters, groups are open to show what was found.
  if (rows_.back().folded && filter_.empty()) return;
  for (const RowId& row : shown) add_row(row, false);
}

void Layout::toggle(RowId row) {
  const std::string key = key_of(row);
  if (!arrangement_.folded.insert(key).second) arrangement_.folded.erase(key);
  place();
}

void Layout::fold_all(bool folded) {
  arrangement_.folded.clear();
  for (const RowId id : all_ids()) {
    if (folded && id.track < 0) arrangement_.folded.insert(key_of(id));
  }
  place();
}

void Layout::reveal(const Session& session, SliceRef ref) {
  const trace::Lane& lane = session.lane_of(ref);
  for (const RowId id : all_ids()) {
    if (groups_[id.group].trace != ref.trace || id.track < 0) continue;
    if (item_of({id}).track != lane.track) continue;
    for (const RowId row : {RowId{id.group, -1}, id}) {
      arrangement_.hidden.erase(key_of(row));
      if (row.track < 0 || lane.depth > 0) arrangement_.folded.erase(key_of(row));
    }
  }
  place();
  if (filter_.empty() || row_of(session, ref)) return;
  filter_.clear();
  place();
}

void Layout::set_pinned(RowId row, bool pinned) {
  if (row.track < 0) return;
  const std::string key = key_of(row);
  std::erase(arrangement_.pinned, key);
  if (pinned) arrangement_.pinned.push_back(key);
  place();
}

void Layout::hide(RowId row) {
  const std::string key = key_of(row);
  std::erase(arrangement_.pinned, key);
  arrangement_.hidden.insert(key);
  place();
}

void Layout::hide_others(RowId row) {
  for (const RowId id : all_ids()) {
    const bool is_other =
        id.track < 0 ? id.group != row.group : row.track >= 0 && id.group == row.group && id != row;
    if (is_other) arrangement_.hidden.insert(key_of(id));
  }
  place();
}

void Layout::show_all() {
  arrangement_.hidden.clear();
  filter_.clear();
  place();
}

void Layout::move(RowId row, int by) {
  std::vector<RowId> beside{row};
  for (const Row& each : rows_) {
    if (each.id == row || each.pinned || each.is_header() != (row.track < 0)) continue;
    if (each.is_header() || each.id.group == row.group) beside.push_back(each.id);
  }
  std::ranges::sort(beside);
  const auto at = std::ranges::find(beside, row) - beside.begin();
  const RowId other =
      beside[static_cast<size_t>(std::clamp<std::ptrdiff_t>(at + by, 0, std::ssize(beside) - 1))];
  if (row.track < 0) {
    std::swap(groups_[row.group], groups_[other.group]);
  } else {
    auto& tracks = groups_[row.group].tracks;
    std::swap(tracks[static_cast<size_t>(row.track)], tracks[static_cast<size_t>(other.track)]);
  }
  remember_order();
  place();
}

void Layout::remember_order() {
  arrangement_.order.clear();
  for (const RowId id : all_ids()) arrangement_.order.push_back(key_of(id));
}

// Groups and tracks that the order does not know stay behind those that it knows.
void Layout::sort_groups() {
  if (arrangement_.order.empty()) return;
  std::unordered_map<std::string, size_t> places;
  for (const std::string& key : arrangement_.order) places.emplace(key, places.size());
  const auto place_of = [&](const std::string& key) {
    const auto found = places.find(key);
    return found == places.end() ? places.size() : found->second;
  };
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    std::vector<std::pair<size_t, TrackItem>> tracks;
    for (int32_t i = 0; i < static_cast<int32_t>(groups_[g].tracks.size()); ++i) {
      tracks.emplace_back(place_of(key_of({g, i})), groups_[g].tracks[static_cast<size_t>(i)]);
    }
    std::ranges::stable_sort(tracks, {}, [](const auto& track) { return track.first; });
    for (size_t i = 0; i < tracks.size(); ++i) groups_[g].tracks[i] = std::move(tracks[i].second);
  }
  std::ranges::stable_sort(groups_, {},
                           [&](const TrackGroup& group) { return place_of(group_key(group)); });
}

void Layout::set_filter(const std::string& text) {
  filter_ = text;
  place();
}

void Layout::arrange(Arrangement arrangement) {
  arrangement_ = std::move(arrangement);
  is_arranged_ = true;
  sort_groups();
  place();
}

const Row* Layout::row_at(int y) const {
  const auto after = std::ranges::upper_bound(rows_, y, {}, &Row::top);
  if (after == rows_.begin()) return nullptr;
  const Row& row = *std::prev(after);
  return y < row.top + row.height ? &row : nullptr;
}

std::optional<LaneHit> Layout::lane_at(const Session& session, int y) const {
  const Row* row = row_at(y);
  if (!row || row->is_header() || item_of(*row).kind != TrackItem::Kind::kSlices) {
    return std::nullopt;
  }
  const uint32_t depth = static_cast<uint32_t>((y - row->top) / kLaneHeight);
  if (depth >= row->lanes) return std::nullopt;
  const auto tracks = session.traces()[row->trace].trace->tracks();
  return LaneHit{row->trace, {tracks[item_of(*row).track.value].first_lane.value + depth}};
}

const Row* Layout::row_of(const Session& session, SliceRef ref) const {
  const trace::TrackId track = session.lane_of(ref).track;
  for (const Row& row : rows_) {
    if (row.is_header() || row.trace != ref.trace) continue;
    if (item_of(row).kind == TrackItem::Kind::kSlices && item_of(row).track == track) return &row;
  }
  return nullptr;
}

std::optional<int> Layout::top_of(const Session& session, SliceRef ref) const {
  const trace::Lane& lane = session.lane_of(ref);
  const Row* row = row_of(session, ref);
  if (!row || lane.depth >= row->lanes) return std::nullopt;
  return row->top + static_cast<int>(lane.depth) * kLaneHeight;
}

}  // namespace redline::viewer
