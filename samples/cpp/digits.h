// Pictures of digits: MNIST's files, or digits drawn here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

/// `images` are N x 1 x 28 x 28 floats from 0 to 1, `labels` N digits.
struct Digits {
  at::Tensor images;
  at::Tensor labels;

  [[nodiscard]] int64_t size() const { return labels.size(0); }
};

/// Reads `directory`/{train,t10k}-{images-idx3,labels-idx1}-ubyte; `part` is "train" or "t10k".
/// Throws std::runtime_error with the file's name where one is missing or broken.
[[nodiscard]] Digits read_mnist(const std::string& directory, const std::string& part);

/// `count` digits, each a glyph at a random place, size and brightness under noise; the same for
/// the same seed.
[[nodiscard]] Digits draw_digits(int64_t count, uint64_t seed);
