#include "trace/read/links.h"

#include <algorithm>
#include <unordered_map>

namespace redline::trace {
namespace {

class EdgePairing {
 public:
  explicit EdgePairing(std::span<const EdgeRow> edges)
      : edges_(edges), is_open_(edges.size(), false) {}

  EdgePairs run() {
    for (uint32_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].is_begin) {
        begin(i);
      } else {
        end(i);
      }
    }
    result_.stray_ends.insert(result_.stray_ends.end(), early_.begin(), early_.end());
    for (uint32_t i = 0; i < edges_.size(); ++i) {
      if (is_open_[i]) result_.open_begins.push_back(i);
    }
    return std::move(result_);
  }

 private:
  void begin(uint32_t index) {
    const auto early = std::ranges::find_if(early_, [&](uint32_t end) {
      return edges_[end].time_ns == edges_[index].time_ns && edges_[end].name == edges_[index].name;
    });
    if (early != early_.end()) {
      result_.pairs.push_back({index, *early});
      early_.erase(early);
      return;
    }
    is_open_[index] = true;
    all_.push_back(index);
    by_name_[edges_[index].name].push_back(index);
  }

  void end(uint32_t index) {
    const StringId name = edges_[index].name;
    std::vector<uint32_t>* stack = &all_;
    if (name) {
      std::vector<uint32_t>& named = drop_closed(by_name_[name]);
      std::vector<uint32_t>& nameless = drop_closed(by_name_[StringId::none()]);
      const bool is_nameless_inner =
          !nameless.empty() && (named.empty() || named.back() < nameless.back());
      stack = is_nameless_inner ? &nameless : &named;
    }
    if (drop_closed(*stack).empty()) return keep_stray(index);
    is_open_[stack->back()] = false;
    result_.pairs.push_back({stack->back(), index});
    stack->pop_back();
  }

  // Only few ends need to be kept, because each waits only for a begin of the same time.
  void keep_stray(uint32_t index) {
    if (early_.size() == kMaxEarly ||
        (!early_.empty() && edges_[early_.back()].time_ns != edges_[index].time_ns)) {
      result_.stray_ends.insert(result_.stray_ends.end(), early_.begin(), early_.end());
      early_.clear();
    }
    early_.push_back(index);
  }

  std::vector<uint32_t>& drop_closed(std::vector<uint32_t>& stack) {
    while (!stack.empty() && !is_open_[stack.back()]) stack.pop_back();
    return stack;
  }

  static constexpr size_t kMaxEarly = 16;

  std::span<const EdgeRow> edges_;
  std::vector<bool> is_open_;
  std::vector<uint32_t> all_;  // begins; closed ones stay until they are on top
  std::unordered_map<StringId, std::vector<uint32_t>> by_name_;
  std::vector<uint32_t> early_;  // ends whose begin has not come yet
  EdgePairs result_;
};

}  // namespace

EdgePairs pair_sorted_edges(std::span<const EdgeRow> edges) { return EdgePairing(edges).run(); }

std::vector<PairedSlice> pair_edges(std::span<EdgeRow> edges, int64_t last_ns, IssueLog& issues) {
  std::ranges::stable_sort(edges, {}, &EdgeRow::time_ns);
  const EdgePairs paired = pair_sorted_edges(edges);
  std::vector<PairedSlice> slices;
  const auto close = [&](const EdgeRow& begin, int64_t end_ns) {
    slices.push_back({begin.track,
                      {.begin_ns = begin.time_ns,
                       .end_ns = end_ns,
                       .text_offset = begin.text_offset & SliceRow::kLargestOffset,
                       .category = begin.category,
                       .name = begin.name}});
  };
  for (const auto& [begin, end] : paired.pairs) close(edges[begin], edges[end].time_ns);
  for (const uint32_t end : paired.stray_ends) {
    issues.add(edges[end].async_id ? Issue::kAsyncEndWithoutBegin : Issue::kEndWithoutBegin,
               edges[end].text_offset);
  }
  if (!edges.empty()) last_ns = std::max(last_ns, edges.back().time_ns);
  for (const uint32_t begin : paired.open_begins) {
    issues.add(edges[begin].async_id ? Issue::kAsyncBeginWithoutEnd : Issue::kBeginWithoutEnd,
               edges[begin].text_offset);
    close(edges[begin], last_ns);
  }
  return slices;
}

}  // namespace redline::trace
