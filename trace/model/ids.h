// Ids of the trace model. Stream, correlation, device and slice numbers are all small integers, and
// a swapped pair of them is this field's classic bug: each gets a type of its own.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace redline::trace {

/// An index that does not convert to other indices. `Id<Tag>::none()` stands for "no such thing".
template <typename Tag>
struct Id {
  uint32_t value = UINT32_MAX;

  static constexpr Id none() { return {}; }
  constexpr explicit operator bool() const { return value != UINT32_MAX; }
  constexpr auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr)
};

using StringId = Id<struct StringTag>;  ///< an interned string of one Trace
using SliceId = Id<struct SliceTag>;    ///< a row of Trace::slices()
using TrackId = Id<struct TrackTag>;    ///< a thread, a stream, or another row of the timeline
using LaneId = Id<struct LaneTag>;      ///< one depth of a track

}  // namespace redline::trace

template <typename Tag>
struct std::hash<redline::trace::Id<Tag>> {
  size_t operator()(redline::trace::Id<Tag> id) const noexcept { return id.value; }
};
