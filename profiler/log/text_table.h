// The texts of records: each name and each "args" is stored once, and records hold its id.
//
// Texts are compared by a 64-bit hash of their content. Their address would be cheaper, but
// RecordFunction::name() may point into an object that is about to be destroyed, and the next name
// may then lie at the same address. Comparing the content itself would make the hot path read each
// text twice; among a million texts, the chance that two share a hash is 3e-8.
//
// Each thread first looks in a TextCache of its own, without a lock. It takes the table's mutex
// only for a text that is not in the cache.
//
// Memory must stay bounded although a long recording never stops bringing new texts (the args of
// each collective hold its sequence number). So the table has two halves, which take turns:
// generation g is stored in halves_[g % 2]. When the current half is full, the next generation
// begins in the other half, which is emptied first; this is possible once every record that refers
// to its texts is written (release_before()). Until then, new texts get no id and are counted as
// refused. An id holds the number of its generation, so an id whose text is gone is noticed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/log/record.h"

namespace redline::profiler {

enum class TextForm : uint8_t {
  kName,  ///< kept as a JSON string with its quotes
  kJson,  ///< kept as it is: members of a JSON object
};

[[nodiscard]] uint64_t hash_text(std::string_view text, TextForm form);

class TextTable {
 public:
  /// Forgets all texts and makes all earlier ids invalid.
  void reset(uint64_t limit_bytes);
  [[nodiscard]] uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// The id of `text`; an invalid id if the limit is reached, which refused() counts.
  [[nodiscard]] TextId intern(uint64_t hash, std::string_view text, TextForm form);
  [[nodiscard]] uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

  /// When the current generation began (monotonic_ns()). Older records may use the one before.
  [[nodiscard]] int64_t began_ns() const { return began_ns_.load(std::memory_order_acquire); }
  /// Reader only: says that all records with texts of earlier generations than `generation` are
  /// written.
  void release_before(uint32_t generation);

 private:
  friend class TextReader;
  struct Half {
    std::unordered_map<uint64_t, uint32_t> ids;
    std::deque<std::string> texts;
    uint64_t bytes = 0;
  };
  [[nodiscard]] bool begin_generation();
  void clear(Half& half);

  std::atomic<uint32_t> generation_ = 0;  // the first member, because each event reads it
  mutable std::mutex mutex_;
  Half halves_[2];  ///< generation g is in halves_[g % 2]
  uint64_t limit_bytes_ = 0;
  std::atomic<uint32_t> released_ = 0;  ///< earlier generations are not needed any more
  std::atomic<int64_t> began_ns_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

/// Finds the texts of ids. For the writer thread only, because no call may run at the same time as
/// release_before().
class TextReader {
 public:
  explicit TextReader(const TextTable& table) : table_(table) {}
  /// A name with its quotes, or members of an object; `not_kept` if the id is invalid or its text
  /// is gone. The text is valid until its generation is released.
  [[nodiscard]] std::string_view text(TextId id, std::string_view not_kept = "\"(name not kept)\"");
  /// How often a text was asked for that was gone.
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] std::string_view learn(uint32_t generation, uint32_t index);

  struct Known {
    uint32_t generation = UINT32_MAX;
    std::vector<std::string_view> texts;
  };
  const TextTable& table_;
  Known known_[2];
  uint64_t lost_ = 0;
};

/// One thread's cache of ids, 4-way set associative: a set is one cache line. A miss asks the
/// table.
class TextCache {
 public:
  [[nodiscard]] TextId intern(TextTable& table, std::string_view text, TextForm form) {
    const uint64_t hash = hash_text(text, form);
    const TextId known = find(table, hash);
    return known ? known : intern_as(table, hash, text, form);
  }

  /// The id of the text with this hash; an invalid id if it is not in the cache.
  [[nodiscard]] TextId find(const TextTable& table, uint64_t hash);
  [[nodiscard]] TextId intern_as(TextTable& table, uint64_t hash, std::string_view text,
                                 TextForm form);

 private:
  struct Entry {
    uint64_t hash = 0;
    TextId id;
  };
  static constexpr size_t kWays = 4;
  static constexpr size_t kEntries = 2048;

  static size_t set_of(uint64_t hash) { return hash % (kEntries / kWays) * kWays; }

  uint32_t generation_ = 0;
  uint32_t next_victim_ = 0;
  alignas(64) std::array<Entry, kEntries> entries_;  // a set in a cache line
};

}  // namespace redline::profiler
