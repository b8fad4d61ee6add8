#include "viewer/models/colours.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "viewer/models/report_tables.h"

namespace redline::viewer {
namespace {

constexpr std::pair<SliceClass, const char*> kClassWords[] = {
    {SliceClass::kCompute, "compute"},
    {SliceClass::kCommunication, "communication"},
    {SliceClass::kOverlapped, "both"},
    {SliceClass::kCopy, "copies"},
    {SliceClass::kDataLoader, "DataLoader"},
    {SliceClass::kOperator, "operators"},
    {SliceClass::kAnnotation, "annotations"},
    {SliceClass::kRuntime, nullptr},  // runtime_words()
    {SliceClass::kPython, "Python"},
    {SliceClass::kOverhead, "overhead"},
    {SliceClass::kOther, "other"},
};

std::string runtime_words(const Session& session) {
  std::set<std::string> names;
  for (const SessionTrace& item : session.traces()) names.insert(runtime_name(*item.trace));
  return names.size() == 1 ? *names.begin() : "runtime";
}

std::vector<LegendEntry> classes_of(const Session& session, const DerivedTracks& derived) {
  std::array<bool, 256> seen{};
  const auto look_at = [&seen](std::span<const uint8_t> classes) {
    for (const uint8_t c : classes) seen[c] = true;
  };
  for (const SessionTrace& item : session.traces()) {
    for (const trace::Lane& lane : item.trace->lanes()) look_at(item.lane_columns(lane).classes);
  }
  for (const DeviceLane& lane : derived.devices) look_at(lane.columns().classes);
  // These two look alike, so one entry is enough.
  if (seen[static_cast<size_t>(SliceClass::kAnnotation)]) {
    seen[static_cast<size_t>(SliceClass::kOther)] = false;
  }
  std::vector<LegendEntry> entries;
  for (const auto& [slice_class, words] : kClassWords) {
    const auto colour = static_cast<uint8_t>(slice_class);
    if (seen[colour]) entries.push_back({words ? words : runtime_words(session), colour});
  }
  return entries;
}

// Tables are sorted by time already.
std::vector<std::string> longest_names(const trace::Report& report) {
  const Table tables[] = {kernel_rows(report), operator_rows(report)};
  std::vector<std::string> names;
  for (size_t row = 0; row < kNameColourCount; ++row) {
    for (const Table& table : tables) {
      if (row < table.rows.size()) names.push_back(table.rows[row].name);
    }
  }
  names.resize(std::min<size_t>(names.size(), kNameColourCount));
  return names;
}

// FNV-1a gives the same hash on every machine and in every run; std::hash does not promise that.
uint8_t colour_by_letters(std::string_view name) {
  uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return static_cast<uint8_t>(kSliceClassCount + (hash >> 8) % kNameColourCount);
}

}  // namespace

Colours::Colours(const Session& session, const trace::Report& report, const DerivedTracks& derived)
    : classes_(classes_of(session, derived)) {
  std::unordered_map<std::string_view, uint8_t> given;
  const std::vector<std::string> longest = longest_names(report);
  for (const std::string& name : longest) {
    const auto colour = static_cast<uint8_t>(kSliceClassCount + given.size());
    if (given.try_emplace(name, colour).second) names_.push_back({name, colour});
  }
  for (const SessionTrace& item : session.traces()) {
    std::vector<uint8_t>& colours = traces_.emplace_back();
    colours.reserve(item.trace->string_count());
    for (uint32_t id = 0; id < item.trace->string_count(); ++id) {
      const std::string_view name = item.trace->string({id});
      const auto found = given.find(name);
      colours.push_back(found == given.end() ? colour_by_letters(name) : found->second);
    }
  }
}

uint8_t Colours::of(uint32_t trace, const trace::Trace& source, uint32_t slice) const {
  const trace::StringId name = source.slices().name[slice];
  return name ? traces_[trace][name.value] : static_cast<uint8_t>(SliceClass::kOther);
}

void Colours::colour_by_name(LanePixels& pixels, uint32_t trace, const trace::Trace& source,
                             const trace::Lane& lane) const {
  const bool is_known = trace < traces_.size() && traces_[trace].size() >= source.string_count();
  if (!is_known) return;  // not yet
  for (size_t c = 0; c < pixels.cover.size(); ++c) {
    if (pixels.cover[c] == 0) continue;
    pixels.colour[c] = of(trace, source, lane.first.value + pixels.slice[c]);
  }
  for (SliceBox& box : pixels.boxes) {
    box.colour = of(trace, source, lane.first.value + box.slice);
  }
}

}  // namespace redline::viewer
