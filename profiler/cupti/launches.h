// The calls of CUDA that put work on a GPU, until that work is seen: found again by correlation.
//
// CUPTI gives its buffers back in any order, and the external id of a call in another record than
// the call. A correlation may come again, so that what it meant last before a time is what counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace redline::cupti {

struct ExternalIds {
  uint32_t op = 0;          ///< 0: none
  uint32_t annotation = 0;  ///< innermost user annotation; 0: none
};

struct Call {
  int64_t begin_ns = 0;
  uint32_t thread = 0;
  ExternalIds external;
  bool has_arrow = false;  ///< to its work; one a call
};

class Launches {
 public:
  static constexpr size_t kMost = size_t{1} << 18;  ///< from round to round

  /// Of the call that follows or, in another buffer, was before.
  void add_external(uint32_t correlation, bool is_annotation, uint32_t id);
  void add_call(uint32_t correlation, int64_t begin_ns, uint32_t thread);
  /// A call that is no part of the trace.
  void add_hidden(uint32_t correlation);
  /// After all calls of a round: external ids whose call came first find it.
  void end_round();
  /// After its work, too: the oldest calls beyond kMost are forgotten.
  void forget_old();

  /// The last call of that correlation that began by `time_ns`, or hardly later; nullptr if there
  /// is none.
  [[nodiscard]] Call* find(uint32_t correlation, int64_t time_ns);
  [[nodiscard]] bool is_hidden(uint32_t correlation) const { return hidden_.contains(correlation); }
  /// Of a call that is hidden, or has not come.
  [[nodiscard]] ExternalIds ids_without_call(uint32_t correlation) const;
  [[nodiscard]] size_t size() const { return order_.size(); }

 private:
  void forget_oldest();

  std::unordered_map<uint32_t, std::vector<Call>> calls_;
  std::deque<uint32_t> order_;  ///< correlations as they came
  std::unordered_map<uint32_t, ExternalIds> waiting_;
  std::unordered_set<uint32_t> hidden_;
};

}  // namespace redline::cupti
