#include "digits.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

constexpr int64_t kSide = 28;
constexpr int kGlyphWidth = 5, kGlyphHeight = 7;

/// One row a byte, the leftmost pixel in bit 4.
constexpr std::array<std::array<uint8_t, kGlyphHeight>, 10> kGlyphs = {{
    {0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E},
    {0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E},
    {0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F},
    {0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E},
    {0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02},
    {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E},
    {0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E},
    {0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E},
    {0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C},
}};

uint32_t big_endian(std::istream& file) {
  std::array<unsigned char, 4> bytes{};
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

/// The bytes of an IDX file of unsigned bytes, whose size must be that of its header.
at::Tensor read_idx(const std::string& path, uint32_t dimensions) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  if (big_endian(file) != (0x0800 | dimensions)) {
    throw std::runtime_error(path + ": not an IDX file of " + std::to_string(dimensions) +
                             " dimensions (is it still compressed?)");
  }
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < dimensions; ++i) sizes.push_back(big_endian(file));
  const bool right_size = dimensions == 1 || (sizes[1] == kSide && sizes[2] == kSide);
  if (!file || !right_size || sizes[0] > 1'000'000) {
    throw std::runtime_error(path + ": not the sizes of MNIST");
  }
  at::Tensor bytes = at::empty(sizes, at::kByte);
  file.read(reinterpret_cast<char*>(bytes.data_ptr<uint8_t>()),
            static_cast<std::streamsize>(bytes.numel()));
  if (!file) throw std::runtime_error(path + ": ends too early");
  return bytes;
}

void draw_glyph(int digit, std::mt19937_64& random, float* image) {
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const int width = number(11, 17), height = number(15, 22);
  const int left = number(2, static_cast<int>(kSide) - width - 2);
  const int top = number(2, static_cast<int>(kSide) - height - 2);
  const int slant = number(-2, 2);
  const float brightness = 0.6F + 0.1F * static_cast<float>(number(0, 4));
  for (int y = 0; y < height; ++y) {
    const uint8_t row =
        kGlyphs[static_cast<size_t>(digit)][static_cast<size_t>(y * kGlyphHeight / height)];
    const int shift = slant * (height / 2 - y) / height;
    for (int x = 0; x < width; ++x) {
      const bool is_set = row >> (kGlyphWidth - 1 - x * kGlyphWidth / width) & 1;
      if (is_set) image[(top + y) * kSide + left + x + shift] = brightness;
    }
  }
}

void add_noise(std::mt19937_64& random, float* image) {
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    const float noise = static_cast<float>(random() >> 40) / static_cast<float>(1 << 24);
    image[i] = std::clamp(image[i] + 0.4F * (noise - 0.5F), 0.0F, 1.0F);
  }
}

}  // namespace

Digits read_mnist(const std::string& directory, const std::string& part) {
  const std::string prefix = directory + "/" + part;
  const at::Tensor images = read_idx(prefix + "-images-idx3-ubyte", 3);
  const at::Tensor labels = read_idx(prefix + "-labels-idx1-ubyte", 1);
  if (images.size(0) != labels.size(0)) {
    throw std::runtime_error(prefix + ": there are not as many labels as images");
  }
  return {images.unsqueeze(1).to(at::kFloat).div_(255), labels.to(at::kLong)};
}

Digits draw_digits(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Digits digits = {at::zeros({count, 1, kSide, kSide}), at::empty({count}, at::kLong)};
  auto* image = digits.images.data_ptr<float>();
  auto* label = digits.labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i, image += kSide * kSide) {
    label[i] = static_cast<int64_t>(random() % 10);
    draw_glyph(static_cast<int>(label[i]), random, image);
    add_noise(random, image);
  }
  return digits;
}
