// Names and args, each kept once: a record holds numbers only.
//
// RecordFunction::name() may point into an object that is about to die, so texts are told apart by
// content, never by address: by a 64-bit hash of it, which among a million texts confuses two with
// a chance of 3e-8. Threads look in a cache of their own first; the table's lock is taken for texts
// that are new to a thread.
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

#include "profiler/record.h"

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

  /// Appends the texts that `known` does not have yet: known[id.value] is the text, valid until
  /// reset().
  void update(std::vector<std::string_view>& known) const;
  [[nodiscard]] uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> ids_;
  std::deque<std::string> texts_;
  uint64_t bytes_ = 0;
  uint64_t limit_bytes_ = 0;
  std::atomic<uint32_t> generation_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

/// A thread's own memory of ids; a miss asks the table.
class TextCache {
 public:
  [[nodiscard]] TextId intern(TextTable& table, std::string_view text, TextForm form);

 private:
  struct Entry {
    uint64_t hash = 0;
    TextId id;
  };
  static constexpr size_t kWays = 4;
  static constexpr size_t kEntries = 2048;

  std::array<Entry, kEntries> entries_;
  uint32_t generation_ = 0;
  uint32_t next_victim_ = 0;
};

}  // namespace redline::profiler
