#include "trace/read/event_shapes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace redline::trace {
namespace {

constexpr std::array<std::string_view RawEvent::*, 7> kValues = {
    &RawEvent::name,     &RawEvent::pid, &RawEvent::tid, &RawEvent::time,
    &RawEvent::duration, &RawEvent::id,  &RawEvent::args};

// Digits are read eight at a time, so these bytes before a time must be readable.
constexpr size_t kBytesBeforeTime = 8;

int64_t RawEvent::*nanoseconds_of(std::string_view RawEvent::*value) {
  if (value == &RawEvent::time) return &RawEvent::time_ns;
  if (value == &RawEvent::duration) return &RawEvent::duration_ns;
  return nullptr;
}

void append_padded(std::string& fixed, std::string_view text) {
  fixed.append(text);
  fixed.resize((fixed.size() + EventShape::kBlockBytes - 1) / EventShape::kBlockBytes *
               EventShape::kBlockBytes);
}

}  // namespace

std::unique_ptr<EventShape> EventShape::of(const RawEvent& event, std::string_view text) {
  std::vector<std::string_view RawEvent::*> values;
  std::copy_if(kValues.begin(), kValues.end(), std::back_inserter(values),
               [&](auto value) { return !(event.*value).empty(); });
  std::ranges::sort(values, {}, [&](auto one) { return (event.*one).data(); });
  values.push_back(nullptr);

  auto shape = std::make_unique<EventShape>();
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (const auto value : values) {
    const char* const fixed_end = value != nullptr ? (event.*value).data() : end;
    const auto bytes = static_cast<size_t>(fixed_end - at);
    if (bytes == 0 || bytes > kMaxFixedBytes) return nullptr;
    shape->pieces.push_back({shape->fixed.size(), bytes, value,
                             bytes >= kBytesBeforeTime ? nanoseconds_of(value) : nullptr});
    append_padded(shape->fixed, {at, bytes});
    if (value != nullptr) at = fixed_end + (event.*value).size();
  }
  shape->phase = event.phase;
  shape->category = event.category;
  for (size_t i = 1; i < shape->pieces.size(); ++i) {
    const Piece& pid = shape->pieces[i - 1];
    if (pid.value == &RawEvent::pid && shape->pieces[i].value == &RawEvent::tid) {
      shape->owner_piece = &pid;
    }
  }
  return shape;
}

void EventShape::remember_owner(const RawEvent& event, std::string_view text) {
  facts.track = ShapeFacts::kUnknown;
  owner.bytes = text.size() <= kMaxFixedBytes ? text.size() : 0;
  if (owner.bytes == 0) return;
  owner.text.clear();
  append_padded(owner.text, text);
  owner.pid_at = static_cast<size_t>(event.pid.data() - text.data());
  owner.pid_bytes = event.pid.size();
  owner.tid_at = static_cast<size_t>(event.tid.data() - text.data());
  owner.tid_bytes = event.tid.size();
}

void EventShapes::learn(const RawEvent& event, std::string_view text) {
  auto shape = EventShape::of(event, text);
  if (!shape) return;
  size_t index = known_.size();
  if (index < kMaxShapes) {
    known_.emplace_back();
    next_.push_back(index);
  } else {
    index = replaced_++ % kMaxShapes;
  }
  known_[index] = std::move(shape);
  next_[index] = index;
  came(index);
}

}  // namespace redline::trace
