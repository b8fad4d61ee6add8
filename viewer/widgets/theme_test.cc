// Measures whether texts can be read and colours can be told apart, also by the colour-blind.
#include "viewer/widgets/theme.h"

#include <gtest/gtest.h>

#include <QProgressBar>
#include <algorithm>
#include <cmath>

#include "viewer/widgets/controls.h"
#include "viewer/widgets/testing_contrast.h"

namespace redline::viewer {
namespace {

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

/// What is seen of a colour on which something half transparent lies.
QColor under(const QColor& cover, const QColor& colour) {
  const auto mix = [&cover](int below, int above) {
    return below + (above - below) * cover.alpha() / 255;
  };
  return {mix(colour.red(), cover.red()), mix(colour.green(), cover.green()),
          mix(colour.blue(), cover.blue())};
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
  EXPECT_GT(contrast(theme_.muted, theme_.header), 4.5) << "on the header of a group";
  EXPECT_GT(contrast(theme_.dark ? theme_.lanes : theme_.text, theme_.graph), 4.5) << "on a mark";
  const QColor tint = theme_.area_tint();
  for (size_t c = 0; c < kColourCount; ++c) {
    EXPECT_GT(contrast(theme_.label[c], theme_.slice[c]), 4.5) << "on colour " << c;
    const double tinted = contrast(under(tint, theme_.label[c]), under(tint, theme_.slice[c]));
    EXPECT_GT(tinted, 4.5) << "in a selected area, on colour " << c;
  }
}

// Looks at what is painted, because the style decides on the colour of a placeholder.
TEST_P(Themes, PlaceholdersCanBeRead) {
  Field field;
  for (const Theme* theme : {&Theme::light(), &theme_}) {  // also after the theme was changed
    field.setStyleSheet(theme->style_sheet());
  }
  field.setPlaceholderText(QStringLiteral("████"));
  field.resize(200, 30);
  const QImage picture = field.grab().toImage();
  double most = 0;
  for (int x = 4; x < picture.width() - 4; ++x) {
    most = std::max(most, contrast(picture.pixelColor(x, 15), theme_.field));
  }
  EXPECT_NEAR(most, contrast(theme_.muted, theme_.field), 0.01);
}

// The style's own colours for selected words are those of no theme of ours.
TEST_P(Themes, SelectedWordsCanBeRead) {
  QLineEdit field;
  QLabel label;
  for (QWidget* part : {static_cast<QWidget*>(&field), static_cast<QWidget*>(&label)}) {
    part->setStyleSheet(theme_.style_sheet());
    part->ensurePolished();
    const QPalette& colours = part->palette();
    EXPECT_GT(
        contrast(colours.color(QPalette::HighlightedText), colours.color(QPalette::Highlight)), 4.5)
        << part->metaObject()->className();
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
