#include "trace/model/string_table.h"

#include <algorithm>
#include <cstring>

namespace redline::trace {
namespace {

constexpr size_t kBlockBytes = 1 << 16;

// Reads eight bytes at a time, because names of templated kernels have hundreds of characters.
uint64_t hash_of(std::string_view text) {
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15;
  uint64_t hash = text.size() * kPrime;
  const char* at = text.data();
  size_t left = text.size();
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  };
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  uint64_t tail = 0;
  if (left > 0) std::memcpy(&tail, at, left);
  mix(tail);
  return hash;
}

}  // namespace

StringId StringTable::find(std::string_view text) const {
  const uint64_t hash = hash_of(text);
  const uint32_t id = slots_.find(
      hash, [&](uint32_t other) { return hashes_[other] == hash && views_[other] == text; });
  return id == IdSlots::kFree ? StringId::none() : StringId{id};
}

StringId StringTable::intern(std::string_view text) {
  const uint64_t hash = hash_of(text);
  uint32_t& id = slots_.slot(
      hash, views_.size(),
      [&](uint32_t other) { return hashes_[other] == hash && views_[other] == text; },
      [&](uint32_t other) { return hashes_[other]; });
  if (id == IdSlots::kFree) {
    id = static_cast<uint32_t>(views_.size());
    views_.push_back(store(text));
    hashes_.push_back(hash);
  }
  return StringId{id};
}

std::string_view StringTable::store(std::string_view text) {
  if (text.size() > block_left_) {
    block_left_ = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique<char[]>(block_left_));
    block_next_ = blocks_.back().get();
  }
  std::copy(text.begin(), text.end(), block_next_);
  const std::string_view stored(block_next_, text.size());
  block_next_ += text.size();
  block_left_ -= text.size();
  return stored;
}

}  // namespace redline::trace
