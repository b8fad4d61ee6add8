// Measures whether texts can be read and colours can be told apart, also by the colour-blind.
#include "viewer/widgets/theme.h"

#include <gtest/gtest.h>

#include <QProgressBar>
#include <algorithm>
#include <cmath>

namespace redline::viewer {
namespace {

using Linear = std::array<double, 3>;

double linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

Linear linear(const QColor& colour) {
  return {linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())};
}

// The contrast of two colours. WCAG 2 requires 4.5 for text.
double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& colour) {
    const Linear c = linear(colour);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

struct Sight {
  const char* name;
  std::array<Linear, 3> matrix;
};

// The matrices of Machado, Oliveira and Fernandes 2009 for full severity, on linear RGB.
constexpr Sight kSights[] = {
    {"normal", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protan",
     {{{0.152286, 1.052583, -0.204868},
       {0.114503, 0.786281, 0.099216},
       {-0.003882, -0.048116, 1.051998}}}},
    {"deutan",
     {{{0.367322, 0.860646, -0.227968},
       {0.280085, 0.672501, 0.047413},
       {-0.011820, 0.042940, 0.968881}}}},
    {"tritan",
     {{{1.255528, -0.076749, -0.178779},
       {-0.078411, 0.930809, 0.147602},
       {0.004733, 0.691367, 0.303900}}}},
};

Linear seen(const QColor& colour, const Sight& sight) {
  const Linear from = linear(colour);
  Linear to{};
  for (size_t i = 0; i < 3; ++i) {
    const Linear& row = sight.matrix[i];
    to[i] = std::clamp(row[0] * from[0] + row[1] * from[1] + row[2] * from[2], 0.0, 1.0);
  }
  return to;
}

Linear lab(const Linear& c) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124564 * c[0] + 0.3575761 * c[1] + 0.1804375 * c[2]) / 0.95047);
  const double y = f(0.2126729 * c[0] + 0.7151522 * c[1] + 0.0721750 * c[2]);
  const double z = f((0.0193339 * c[0] + 0.1191920 * c[1] + 0.9503041 * c[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(const QColor& a, const QColor& b, const Sight& sight) {
  const Linear p = lab(seen(a, sight));
  const Linear q = lab(seen(b, sight));
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

class Themes : public ::testing::TestWithParam<bool> {
 protected:
  const Theme& theme_ = GetParam() ? Theme::dark_theme() : Theme::light();

  // Annotations and "other" share a colour on purpose; a just noticeable difference is 2.3.
  void expect_apart(int first, int end) const {
    constexpr double kApart = 11;
    for (const Sight& sight : kSights) {
      for (int a = first; a < end; ++a) {
        for (int b = a + 1; b < end; ++b) {
          const QColor& one = theme_.slice[static_cast<size_t>(a)];
          const QColor& other = theme_.slice[static_cast<size_t>(b)];
          if (one == other) continue;
          EXPECT_GT(distance(one, other, sight), kApart) << sight.name << ' ' << a << ' ' << b;
        }
      }
    }
  }
};

TEST_P(Themes, WordsCanBeRead) {
  for (const QColor& back : {theme_.panel, theme_.field, theme_.lanes, theme_.chosen}) {
    EXPECT_GT(contrast(theme_.text, back), 7) << back.name().toStdString();
  }
  for (const QColor& back : {theme_.panel, theme_.field, theme_.lanes}) {
    EXPECT_GT(contrast(theme_.muted, back), 4.5) << back.name().toStdString();
    EXPECT_GT(contrast(theme_.accent, back), 4.5) << back.name().toStdString();
  }
  for (size_t c = 0; c < kColourCount; ++c) {
    EXPECT_GT(contrast(theme_.label[c], theme_.slice[c]), 4.5) << "on colour " << c;
  }
}

TEST_P(Themes, WordsOnAProgressBarCanBeReadWhereverItIs) {
  QProgressBar bar;
  bar.setStyleSheet(theme_.style_sheet());
  bar.setTextVisible(false);
  bar.resize(200, 24);
  bar.setValue(50);
  const QImage picture = bar.grab().toImage();
  for (const int x : {10, 60, 140, 190}) {
    EXPECT_GT(contrast(theme_.text, picture.pixelColor(x, 12)), 4.5) << x;
  }
}

TEST_P(Themes, ClassesAndNamesAreToldApartByAnyEye) {
  expect_apart(0, kSliceClassCount);
  expect_apart(kSliceClassCount, kColourCount);
}

INSTANTIATE_TEST_SUITE_P(LightAndDark, Themes, ::testing::Bool());

}  // namespace
}  // namespace redline::viewer
