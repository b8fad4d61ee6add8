#include "viewer/goldens/picture.h"

#include <fmt/format.h>

#include <QDir>
#include <algorithm>
#include <filesystem>
#include <set>

namespace redline::viewer {
namespace {

constexpr int kRounding = 2;

bool differ(QRgb one, QRgb other) {
  return std::max({std::abs(qRed(one) - qRed(other)), std::abs(qGreen(one) - qGreen(other)),
                   std::abs(qBlue(one) - qBlue(other))}) > kRounding;
}

QRgb pale(QRgb colour) {
  const auto channel = [](int value) { return 255 - (255 - value) / 4; };
  return qRgb(channel(qRed(colour)), channel(qGreen(colour)), channel(qBlue(colour)));
}

// Few colours take a palette, which is smaller and loses nothing.
QImage with_palette(const QImage& image) {
  constexpr size_t kMostColours = 256;
  std::set<QRgb> colours;
  for (int y = 0; y < image.height() && colours.size() <= kMostColours; ++y) {
    for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
  }
  if (colours.size() > kMostColours) return image;
  return image.convertToFormat(QImage::Format_Indexed8, {colours.begin(), colours.end()});
}

bool save(const QImage& image, const std::string& path) {
  constexpr int kSmallest = 0;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  return image.save(QString::fromStdString(path), "PNG", kSmallest);
}

}  // namespace

Difference difference_of(const QImage& picture, const QImage& golden) {
  Difference difference{0, QImage(picture.size(), QImage::Format_RGB32)};
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      const bool differs =
          !golden.rect().contains(x, y) || differ(picture.pixel(x, y), golden.pixel(x, y));
      difference.pixels += differs ? 1 : 0;
      difference.shown.setPixel(x, y, differs ? qRgb(255, 0, 0) : pale(picture.pixel(x, y)));
    }
  }
  return difference;
}

std::optional<std::string> check_picture(const QImage& picture, const std::string& name) {
  const std::string kept = fmt::format("{}/viewer/goldens/{}.png", REDLINE_SOURCE_DIR, name);
  const auto built = std::filesystem::path(REDLINE_BIN_DIR).parent_path() / "goldens";
  const std::string now = built / (name + ".png");
  const std::string shown = built / "differences" / (name + ".png");
  const QImage golden(QString::fromStdString(kept));
  const Difference difference = difference_of(picture, golden);
  if (golden.size() == picture.size() && difference.pixels == 0) {
    std::filesystem::remove(now);  // of an earlier run: else it would be taken for news
    std::filesystem::remove(shown);
    return std::nullopt;
  }
  const QImage opaque = picture.convertToFormat(QImage::Format_RGB32);
  if (!save(with_palette(opaque), now)) return fmt::format("{}: cannot be written", now);
  if (!save(difference.shown, shown)) return fmt::format("{}: cannot be written", shown);
  return fmt::format(
      "{} pixels of {} x {} differ\n  kept        {} ({} x {})\n  now         {}\n"
      "  difference  {}\nIf it is as it should be: cp {} {}",
      difference.pixels, picture.width(), picture.height(), kept, golden.width(), golden.height(),
      now, shown, now, kept);
}

}  // namespace redline::viewer
