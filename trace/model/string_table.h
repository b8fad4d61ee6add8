// Interned strings: each distinct text once, with a dense id.
//
// A trace of millions of events has a few hundred names: the reader looks up a name for every event
// and hardly ever stores a new one. std::unordered_map<std::string> would copy each name to look it
// up; this table looks up by view, and its strings never move.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "trace/model/id_slots.h"
#include "trace/model/ids.h"

namespace redline::trace {

class StringTable {
 public:
  /// The id of `text`; copies it when seen for the first time.
  StringId intern(std::string_view text);

  /// The id of `text`, none where it was never interned.
  [[nodiscard]] StringId find(std::string_view text) const;

  [[nodiscard]] std::string_view operator[](StringId id) const { return views_[id.value]; }
  /// The same; empty for none and for ids of other tables.
  [[nodiscard]] std::string_view at(StringId id) const {
    return id.value < views_.size() ? views_[id.value] : std::string_view();
  }
  [[nodiscard]] size_t size() const { return views_.size(); }

 private:
  std::string_view store(std::string_view text);

  std::vector<std::string_view> views_;
  std::vector<uint64_t> hashes_;  // one an id
  IdSlots slots_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_left_ = 0;
  char* block_next_ = nullptr;
};

}  // namespace redline::trace
