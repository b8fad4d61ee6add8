// Names and args, each kept once: a record holds numbers only.
//
// RecordFunction::name() may point into an object that is about to die, so texts are told apart by
// content, never by address: by a 64-bit hash of it, which among a million texts confuses two with
// a chance of 3e-8. Threads look in a cache of their own first; the table's lock is taken for texts
// that are new to a thread.
//
// A long recording meets texts without end (each collective's args hold its number), so the table
// has two halves: when one is full, the other starts afresh, once nothing that waits to be written
// needs its old texts any more. Ids hold the number of their generation.
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
  /// Forgets all texts: ids of earlier generations mean nothing from here on.
  void reset(uint64_t limit_bytes);
  [[nodiscard]] uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// The id of `text`; none where the limit is reached, which refused() counts.
  [[nodiscard]] TextId intern(uint64_t hash, std::string_view text, TextForm form);
  [[nodiscard]] uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

  /// When the present generation began, by monotonic_ns(): older records may need the one before.
  [[nodiscard]] int64_t began_ns() const { return began_ns_.load(std::memory_order_acquire); }
  /// Reader only: it needs no generation before `generation` any more.
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

  std::atomic<uint32_t> generation_ = 0;  // first, beside what else an event looks at
  mutable std::mutex mutex_;
  Half halves_[2];  ///< generation g is in halves_[g % 2]
  uint64_t limit_bytes_ = 0;
  std::atomic<uint32_t> released_ = 0;  ///< generations before this are not needed
  std::atomic<int64_t> began_ns_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

/// What texts ids stand for. Writer thread only, since it must not run beside release_before().
class TextReader {
 public:
  explicit TextReader(const TextTable& table) : table_(table) {}
  /// A name with its quotes or members of an object; `not_kept` for no id or one that has outlived
  /// its text. Valid until the text's generation is released.
  [[nodiscard]] std::string_view text(TextId id, std::string_view not_kept = "\"(name not kept)\"");
  /// Ids that had outlived their text.
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

/// A thread's own memory of ids; a miss asks the table.
class TextCache {
 public:
  [[nodiscard]] TextId intern(TextTable& table, std::string_view text, TextForm form) {
    const uint64_t hash = hash_text(text, form);
    const TextId known = find(table, hash);
    return known ? known : intern_as(table, hash, text, form);
  }

  /// The id of what was interned under `hash`; none where the cache does not hold it.
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
