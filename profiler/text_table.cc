#include "profiler/text_table.h"

#include <cstring>

#include "trace/text_buffer.h"

namespace redline::profiler {
namespace {

/// Folds a 128-bit product: the mixing step of wyhash and its kin.
uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t load(const char* at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

}  // namespace

uint64_t hash_text(std::string_view text, TextForm form) {
  constexpr uint64_t kPrime1 = 0x9E3779B97F4A7C15, kPrime2 = 0xD6E8FEB86659FD93;
  uint64_t hash = mix(text.size() + 1, kPrime1 ^ static_cast<uint64_t>(form));
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) hash = mix(hash ^ load(at, 8), kPrime2);
  if (left > 0) hash = mix(hash ^ load(at, left), kPrime1);
  return mix(hash, kPrime2);
}

void TextTable::reset(uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  ids_.clear();
  texts_.clear();
  bytes_ = 0;
  limit_bytes_ = limit_bytes;
  refused_ = 0;
  generation_.fetch_add(1, std::memory_order_release);
}

TextId TextTable::intern(uint64_t hash, std::string_view text, TextForm form) {
  constexpr uint64_t kCostOfEntry = 128;  // map node and string header
  const std::lock_guard lock(mutex_);
  if (const auto found = ids_.find(hash); found != ids_.end()) return {found->second};
  if (bytes_ + text.size() + kCostOfEntry > limit_bytes_) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const TextId id{static_cast<uint32_t>(texts_.size())};
  texts_.push_back(form == TextForm::kName ? trace::json_string(text) : std::string(text));
  ids_.emplace(hash, id.value);
  bytes_ += texts_.back().size() + kCostOfEntry;
  return id;
}

void TextTable::update(std::vector<std::string_view>& known) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = known.size(); i < texts_.size(); ++i) known.emplace_back(texts_[i]);
}

TextId TextCache::intern(TextTable& table, std::string_view text, TextForm form) {
  if (const uint32_t generation = table.generation(); generation != generation_) {
    entries_.fill({});
    generation_ = generation;
  }
  const uint64_t hash = hash_text(text, form);
  const size_t set = hash % (kEntries / kWays) * kWays;
  for (size_t way = 0; way < kWays; ++way) {
    if (entries_[set + way].hash == hash) return entries_[set + way].id;
  }
  const TextId id = table.intern(hash, text, form);
  if (id) entries_[set + next_victim_++ % kWays] = {hash, id};
  return id;
}

}  // namespace redline::profiler
