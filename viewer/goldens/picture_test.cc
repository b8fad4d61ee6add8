#include "viewer/goldens/picture.h"

#include <gtest/gtest.h>

namespace redline::viewer {
namespace {

QImage grey(int width, int height) {
  QImage image(width, height, QImage::Format_RGB32);
  image.fill(qRgb(100, 100, 100));
  return image;
}

TEST(Picture, ADifferenceIsMoreThanRounding) {
  const QImage golden = grey(8, 4);
  QImage picture = golden;
  EXPECT_EQ(difference_of(picture, golden).pixels, 0);
  picture.setPixel(5, 2, qRgb(102, 98, 100));
  EXPECT_EQ(difference_of(picture, golden).pixels, 0);
  picture.setPixel(6, 3, qRgb(100, 100, 103));
  const Difference one = difference_of(picture, golden);
  EXPECT_EQ(one.pixels, 1);
  EXPECT_EQ(one.shown.pixel(6, 3), qRgb(255, 0, 0));
  EXPECT_NE(one.shown.pixel(5, 2), qRgb(255, 0, 0));
}

TEST(Picture, WhatTheGoldenLacksDiffers) {
  EXPECT_EQ(difference_of(grey(8, 4), grey(8, 3)).pixels, 8);
  EXPECT_EQ(difference_of(grey(8, 4), QImage()).pixels, 32);
}

}  // namespace
}  // namespace redline::viewer
