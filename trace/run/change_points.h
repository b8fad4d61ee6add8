// Finds where a series of measurements, such as the times of steps, changes its level.
//
// Neighbouring measurements are alike (a machine is busy for a while), and a method that takes them
// for independent sees changes everywhere. So the noise is measured on means over longer and longer
// windows: if the mean of 16 values differs from that of the next 16 by more than with independent
// values, the noise counts as that much larger. It is a median over the series, which the few
// windows with a real change in them do not move.
//
// The segments are those with the smallest sum of squares about their means plus a penalty for each
// change (optimal partitioning, Jackson 2005). The series has at most some hundred values, so
// nothing needs to be pruned.
//
// A series that rises steadily would be cut in its middle, where nothing happened, so such a rise
// is looked for by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace redline::trace {

/// The standard deviation that independent values with the same long-term noise would have; 0 for
/// fewer than 8 values.
[[nodiscard]] double long_term_noise(std::span<const double> values);

/// The index of each segment's first value, so the first index is 0. Fewer than 64 values are one
/// segment, because their noise over longer times is not known. A segment has at least
/// `least_length` values, and the means of neighbours differ by at least `least_change`, and by
/// more than the noise of these two explains.
[[nodiscard]] std::vector<size_t> segments_of(std::span<const double> values, size_t least_length,
                                              double least_change);

/// Values that go up evenly from one level to a second one.
struct Creep {
  size_t begin = 0;
  size_t end = 0;  ///< the first value that lies on the second level
  double rise = 0;
};

/// nullopt if these values do not rise by `least_rise`, or if up to three levels describe them
/// about as well. A creep has at least `least_length` values. Fewer than 64 values have none.
[[nodiscard]] std::optional<Creep> creep_of(std::span<const double> values, size_t least_length,
                                            double least_rise);

}  // namespace redline::trace
