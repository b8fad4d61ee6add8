#include "trace/event_shapes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace redline::trace {
namespace {

constexpr std::array<std::string_view RawEvent::*, 7> kValues = {
    &RawEvent::name,     &RawEvent::pid, &RawEvent::tid, &RawEvent::time,
    &RawEvent::duration, &RawEvent::id,  &RawEvent::args};

}  // namespace

std::optional<EventShape> EventShape::of(const RawEvent& event, std::string_view text) {
  std::vector<std::string_view RawEvent::*> values;
  std::copy_if(kValues.begin(), kValues.end(), std::back_inserter(values),
               [&](auto value) { return !(event.*value).empty(); });
  std::sort(values.begin(), values.end(),
            [&](auto left, auto right) { return (event.*left).data() < (event.*right).data(); });
  values.push_back(nullptr);

  EventShape shape;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (const auto value : values) {
    const char* const fixed_end = value != nullptr ? (event.*value).data() : end;
    const auto bytes = static_cast<size_t>(fixed_end - at);
    if (bytes == 0 || bytes > kMaxFixedBytes) return std::nullopt;
    shape.pieces.push_back({shape.fixed.size(), bytes, value});
    shape.fixed.append(at, bytes);
    shape.fixed.resize((shape.fixed.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    if (value != nullptr) at = fixed_end + (event.*value).size();
  }
  shape.phase = event.phase;
  shape.category = event.category;
  return shape;
}

void EventShapes::learn(const RawEvent& event, std::string_view text) {
  auto shape = EventShape::of(event, text);
  if (!shape) return;
  size_t index = known_.size();
  if (index < kMaxShapes) {
    known_.push_back(nullptr);
  } else {
    index = replaced_++ % kMaxShapes;
  }
  known_[index] = std::make_unique<Known>(Known{std::move(*shape), index});
  came(index);
}

}  // namespace redline::trace
