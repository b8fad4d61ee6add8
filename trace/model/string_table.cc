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

size_t StringTable::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot]) {
    const uint32_t id = slots_[slot].value;
    if (hashes_[id] == hash && views_[id] == text) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

StringId StringTable::find(std::string_view text) const {
  return slots_.empty() ? StringId::none() : slots_[slot_of(text, hash_of(text))];
}

StringId StringTable::intern(std::string_view text) {
  if (views_.size() * 2 >= slots_.size()) grow();
  const uint64_t hash = hash_of(text);
  StringId& slot = slots_[slot_of(text, hash)];
  if (!slot) {
    slot = StringId{static_cast<uint32_t>(views_.size())};
    views_.push_back(store(text));
    hashes_.push_back(hash);
  }
  return slot;
}

void StringTable::grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), StringId::none());
  for (uint32_t id = 0; id < views_.size(); ++id) slots_[slot_of(views_[id], hashes_[id])] = {id};
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
