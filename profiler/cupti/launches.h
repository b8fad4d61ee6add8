// Keeps the calls of CUDA that put work on a GPU, by correlation, until that work is seen.
//
// CUPTI gives its buffers back in any order, and the external id of a call is in another record
// than the call. A correlation may be used again, so the last call with it before the work counts.
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
  bool has_arrow = false;  ///< an arrow to its first work is made; each call gets one
};

class Launches {
 public:
  static constexpr size_t kMost = size_t{1} << 18;  ///< so many calls are kept between rounds

  /// The call with this correlation may be added later, or may have been added before.
  void add_external(uint32_t correlation, bool is_annotation, uint32_t id);
  void add_call(uint32_t correlation, int64_t begin_ns, uint32_t thread);
  /// A call that the trace leaves out.
  void add_hidden(uint32_t correlation);
  /// To be called after all calls and ids of a round. Joins ids with calls that were added before.
  void end_round();
  /// To be called after the work of a round. Forgets the oldest calls beyond kMost.
  void forget_old();

  /// The last call with that correlation that began before `time_ns`, or at most a clock error
  /// later; nullptr if there is none.
  [[nodiscard]] Call* find(uint32_t correlation, int64_t time_ns);
  [[nodiscard]] bool is_hidden(uint32_t correlation) const { return hidden_.contains(correlation); }
  /// The ids of a call that is hidden or has not come.
  [[nodiscard]] ExternalIds ids_without_call(uint32_t correlation) const;
  [[nodiscard]] size_t size() const { return order_.size(); }

 private:
  void forget_oldest();

  std::unordered_map<uint32_t, std::vector<Call>> calls_;
  std::deque<uint32_t> order_;  ///< correlations in the order of add_call()
  std::unordered_map<uint32_t, ExternalIds> waiting_;
  std::unordered_set<uint32_t> hidden_;
};

}  // namespace redline::cupti
