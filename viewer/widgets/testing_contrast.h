// How well a colour can be seen on another, for tests.
#pragma once

#include <QColor>
#include <algorithm>
#include <array>
#include <cmath>

namespace redline::viewer {

using Linear = std::array<double, 3>;

inline double linear(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

inline Linear linear(const QColor& colour) {
  return {linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())};
}

/// WCAG 2 requires 4.5 for text, and 3 for what tells where the focus is.
inline double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& colour) {
    const Linear c = linear(colour);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

}  // namespace redline::viewer
