// Compares a picture with the golden that is kept under its name.
//
// Pixel by pixel: a test that allows for a share of differing pixels would not see a word that
// changed. That works because everything that is drawn is fixed (font, scale, theme, platform), so
// a picture does not depend on the machine.
#pragma once

#include <QImage>
#include <optional>
#include <string>

namespace redline::viewer {

struct Difference {
  int pixels = 0;
  QImage shown;  ///< the picture, pale, and in red what differs
};

/// Counts the pixels of which a channel differs by more than two levels. Every x86 instruction set
/// blends alike; other processors may round otherwise, and text on a slice is blended twice.
[[nodiscard]] Difference difference_of(const QImage& picture, const QImage& golden);

/// A sentence where the picture is not as its golden. It is then in the build's folder `goldens`,
/// so that it can be looked at, and copied to become the golden.
[[nodiscard]] std::optional<std::string> check_picture(const QImage& picture,
                                                       const std::string& name);

}  // namespace redline::viewer
