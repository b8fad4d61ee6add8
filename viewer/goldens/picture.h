// A picture against the one that is kept under its name.
#pragma once

#include <QImage>
#include <optional>
#include <string>

namespace redline::viewer {

struct Difference {
  int pixels = 0;
  QImage shown;  ///< the picture, pale, and in red what differs
};

/// Pixels of which a channel differs by more than two levels. All that is drawn is fixed, and every
/// x86 instruction set blends alike; others may round otherwise, and text on a slice blends twice.
[[nodiscard]] Difference difference_of(const QImage& picture, const QImage& golden);

/// A sentence where the picture is not as its golden. It is then in the build's folder `goldens`,
/// so that it can be looked at, and copied to become the golden.
[[nodiscard]] std::optional<std::string> check_picture(const QImage& picture,
                                                       const std::string& name);

}  // namespace redline::viewer
