// Linking slices: launches to what they started on the GPU, forward operators to backward ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/read/event_rows.h"
#include "trace/read/lanes.h"

namespace redline::trace {

/// Launches are linked by correlation number, which is there with or without flow events; flow
/// events link the rest, by the slices that lie at their times. Kineto writes an "f" on every
/// runtime call, launch or not, so an "f" without "s" is no error. Sorted by Flow::from.
/// `rows` lose their flow ends; times are moved by `base_ns`.
[[nodiscard]] std::vector<Flow> link_flows(const PlacedTracks& placed,
                                           std::span<const std::unique_ptr<EventRows>> rows,
                                           int64_t base_ns, unsigned threads);

}  // namespace redline::trace
