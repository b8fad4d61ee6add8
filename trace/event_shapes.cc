#include "trace/event_shapes.h"

#include <algorithm>
#include <iterator>

#include "trace/event_scanner.h"
#include "trace/simd_block.h"

namespace redline::trace {
namespace {

constexpr std::array<std::string_view RawEvent::*, 7> kValues = {
    &RawEvent::name,     &RawEvent::pid, &RawEvent::tid, &RawEvent::time,
    &RawEvent::duration, &RawEvent::id,  &RawEvent::args};

// `fixed` is padded with zeros to whole blocks; what stands in `at` there does not matter.
bool starts_with(const char* at, const char* fixed, size_t bytes) {
  for (; bytes > Block16::kBytes; bytes -= Block16::kBytes) {
    if (Block16(at).equal(Block16(fixed)) != 0xFFFF) return false;
    at += Block16::kBytes;
    fixed += Block16::kBytes;
  }
  const uint32_t wanted = (uint32_t{1} << bytes) - 1;
  return (Block16(at).equal(Block16(fixed)) & wanted) == wanted;
}

}  // namespace

std::unique_ptr<EventShape> EventShape::of(const RawEvent& event, std::string_view text) {
  auto shape = std::make_unique<EventShape>();
  std::vector<std::string_view RawEvent::*> fields;
  std::copy_if(kValues.begin(), kValues.end(), std::back_inserter(fields),
               [&](auto field) { return !(event.*field).empty(); });
  std::sort(fields.begin(), fields.end(),
            [&](auto left, auto right) { return (event.*left).data() < (event.*right).data(); });
  fields.push_back(nullptr);

  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (const auto field : fields) {
    const char* const value = field != nullptr ? (event.*field).data() : end;
    const auto bytes = static_cast<size_t>(value - at);
    if (bytes == 0 || bytes > kMaxFixedBytes) return nullptr;
    shape->values_.push_back({field, shape->fixed_.size(), bytes});
    shape->fixed_.append(at, bytes);
    shape->fixed_.resize((shape->fixed_.size() + Block16::kBytes - 1) / Block16::kBytes *
                         Block16::kBytes);
    if (field != nullptr) at = value + (event.*field).size();
  }
  shape->phase_ = event.phase;
  shape->category_ = event.category;
  return shape;
}

bool EventShape::match(SoundEventScanner& scanner, RawEvent& event) const {
  const SoundEventScanner start = scanner;
  for (const Value& value : values_) {
    if (scanner.ended() ||
        !starts_with(scanner.at(), fixed_.data() + value.fixed_begin, value.fixed_bytes)) {
      scanner = start;
      return false;
    }
    scanner.advance(value.fixed_bytes);
    if (value.field == nullptr) break;
    std::string_view& token = event.*value.field;
    if (!scanner.value(token) || (value.field == &RawEvent::args && token[0] != '{')) {
      scanner = start;
      return false;
    }
  }
  event.phase = phase_;
  event.category = category_;
  return scanner.is_inside();
}

bool EventShapes::match(SoundEventScanner& scanner, RawEvent& event) {
  if (known_.empty()) return false;
  const size_t expected = known_[last_].next;
  if (known_[expected].shape->match(scanner, event)) {
    last_ = expected;
    return true;
  }
  const uint64_t offset = event.offset;
  for (size_t i = 0; i < known_.size(); ++i) {
    event = {};
    event.offset = offset;
    if (i == expected || !known_[i].shape->match(scanner, event)) continue;
    known_[last_].next = i;
    last_ = i;
    return true;
  }
  return false;
}

void EventShapes::learn(const RawEvent& event, std::string_view text) {
  auto shape = EventShape::of(event, text);
  if (shape == nullptr) return;
  size_t index = known_.size();
  if (index < kMaxShapes) {
    known_.push_back({std::move(shape), index});
  } else {
    index = replaced_++ % kMaxShapes;
    known_[index] = {std::move(shape), index};
  }
  known_[last_].next = index;
  last_ = index;
}

}  // namespace redline::trace
