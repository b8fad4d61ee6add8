// Where a series changes its level: of a value measured again and again, such as the time of a
// step.
//
// Neighbouring measurements are alike (a machine is busy for a while), and a method that takes them
// for independent sees changes everywhere. So the noise is that of means over longer and longer
// windows: where the mean of 16 values differs from that of the next 16 by more than independent
// values would, the noise is so much larger. A median over the series makes it, which the few
// windows with a real change in them do not move. The segments are those with the least squares
// about their means plus a penalty for each change (optimal partitioning, Jackson 2005); the series
// has at most some hundred values, so that nothing needs to be pruned.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace redline::trace {

/// The standard deviation that independent values of the same long-term noise would have; 0 of
/// fewer than 8.
[[nodiscard]] double long_term_noise(std::span<const double> values);

/// Of each segment the first value's index, so the first is 0; fewer than 64 values are one
/// segment, since nobody knows their noise over longer times. A segment has at least `least_length`
/// values, and the means of neighbours differ by at least `least_change`.
[[nodiscard]] std::vector<size_t> segments_of(std::span<const double> values, size_t least_length,
                                              double least_change);

}  // namespace redline::trace
