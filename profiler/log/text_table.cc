#include "profiler/log/text_table.h"

#include <cstring>

#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

/// Multiplies to 128 bits and folds the halves: the mixing step of wyhash and similar hashes.
uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename Word>
uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Loads the last `left` bytes of a text, which are fewer than eight, by loads of a fixed size that
/// may overlap.
uint64_t load_tail(const char* at, size_t left, size_t size) {
  if (size >= 8) return load<uint64_t>(at + left - 8);
  if (left >= 4) return load<uint32_t>(at) | load<uint32_t>(at + left - 4) << 32;
  return load<uint8_t>(at) | load<uint8_t>(at + left / 2) << 8 | load<uint8_t>(at + left - 1) << 16;
}

// An id consists of the low bits of its generation and its place in that. UINT32_MAX is no id.
constexpr uint32_t kIndexBits = 22;
constexpr uint32_t kMostTexts = (1U << kIndexBits) - 1;
constexpr uint32_t kGenerations = 1U << (32 - kIndexBits);

TextId id_of(uint32_t generation, uint32_t index) {
  return {(generation % kGenerations) << kIndexBits | index};
}

}  // namespace

[[gnu::hot]] uint64_t hash_text(std::string_view text, TextForm form) {
  constexpr uint64_t kPrime1 = 0x9E3779B97F4A7C15, kPrime2 = 0xD6E8FEB86659FD93;
  uint64_t hash = mix(text.size() + 1, kPrime1 ^ static_cast<uint64_t>(form));
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) hash = mix(hash ^ load<uint64_t>(at), kPrime2);
  if (left > 0) hash = mix(hash ^ load_tail(at, left, text.size()), kPrime1);
  return mix(hash, kPrime2);
}

void TextTable::clear(Half& half) {
  half.ids.clear();
  half.texts.clear();
  half.bytes = 0;
}

void TextTable::reset(uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  for (Half& half : halves_) clear(half);
  limit_bytes_ = limit_bytes;
  refused_ = 0;
  released_ = generation_ + 1;
  began_ns_ = monotonic_ns();
  generation_.fetch_add(1, std::memory_order_release);
}

bool TextTable::begin_generation() {
  if (released_ != generation_) return false;
  clear(halves_[(generation_ + 1) % 2]);
  began_ns_ = monotonic_ns();
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void TextTable::release_before(uint32_t generation) {
  const std::lock_guard lock(mutex_);
  released_ = generation;
}

TextId TextTable::intern(uint64_t hash, std::string_view text, TextForm form) {
  constexpr uint64_t kCostOfEntry = 128;  // map node and string header
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Half& half) {
    return half.bytes + text.size() + kCostOfEntry <= limit_bytes_ / 2 &&
           half.texts.size() < kMostTexts;
  };
  Half* half = &halves_[generation_ % 2];
  if (const auto found = half->ids.find(hash); found != half->ids.end()) {
    return id_of(generation_, found->second);
  }
  if (!fits(*half)) {
    // A text that does not even fit into an empty half must not start a new generation.
    if (!fits({}) || !begin_generation()) {
      const Half& older = halves_[(generation_ + 1) % 2];
      if (const auto found = older.ids.find(hash); found != older.ids.end()) {
        return id_of(generation_ - 1, found->second);
      }
      refused_.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    half = &halves_[generation_ % 2];
  }
  const auto index = static_cast<uint32_t>(half->texts.size());
  half->texts.push_back(form == TextForm::kName ? trace::json_string(text) : std::string(text));
  half->ids.emplace(hash, index);
  half->bytes += half->texts.back().size() + kCostOfEntry;
  return id_of(generation_, index);
}

std::string_view TextReader::text(TextId id, std::string_view not_kept) {
  if (!id) return not_kept;
  const uint32_t now = table_.generation();
  const uint32_t age = (now - (id.value >> kIndexBits)) % kGenerations;
  const uint32_t generation = now - age;
  if (age > 1 || generation < table_.released_) {
    ++lost_;
    return not_kept;
  }
  const uint32_t index = id.value & kMostTexts;
  const Known& known = known_[generation % 2];
  if (known.generation == generation && index < known.texts.size()) return known.texts[index];
  const std::string_view learnt = learn(generation, index);
  return learnt.data() != nullptr ? learnt : not_kept;
}

std::string_view TextReader::learn(uint32_t generation, uint32_t index) {
  Known& known = known_[generation % 2];
  if (known.generation != generation) known.texts.clear();
  known.generation = generation;
  const std::lock_guard lock(table_.mutex_);
  const auto& texts = table_.halves_[generation % 2].texts;
  for (size_t i = known.texts.size(); i < texts.size(); ++i) known.texts.emplace_back(texts[i]);
  return index < known.texts.size() ? known.texts[index] : std::string_view();
}

[[gnu::hot]] TextId TextCache::find(const TextTable& table, uint64_t hash) {
  if (const uint32_t generation = table.generation(); generation != generation_) {
    entries_.fill({});
    generation_ = generation;
  }
  const Entry* set = &entries_[set_of(hash)];
  for (size_t way = 0; way < kWays; ++way) {
    if (set[way].hash == hash) return set[way].id;
  }
  return {};
}

TextId TextCache::intern_as(TextTable& table, uint64_t hash, std::string_view text, TextForm form) {
  const TextId id = table.intern(hash, text, form);
  if (id) entries_[set_of(hash) + next_victim_++ % kWays] = {hash, id};
  return id;
}

}  // namespace redline::profiler
