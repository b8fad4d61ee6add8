// What operators said of the collectives that they started, by external id, and what NCCL chose for
// them: for the kernels, which come later and by that id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redline::cupti {

struct CollectiveNote {
  std::string members = {};    ///< of "args" of record_param_comms
  std::string algorithm = {};  ///< by NCCL's profiler plugin, such as "RING"; "" without it
  std::string protocol = {};
};

class CollectiveNotes {
 public:
  static constexpr size_t kMost = size_t{1} << 16;

  void add(uint32_t id, std::string_view members) {
    const std::lock_guard lock(mutex_);
    place(id).members = members;
  }
  void add_choice(uint32_t id, std::string_view algorithm, std::string_view protocol) {
    const std::lock_guard lock(mutex_);
    CollectiveNote& note = place(id);
    note.algorithm = algorithm;
    note.protocol = protocol;
  }
  [[nodiscard]] std::optional<CollectiveNote> find(uint32_t id) const {
    const std::lock_guard lock(mutex_);
    const auto note = notes_.find(id);
    return note == notes_.end() ? std::nullopt : std::optional(note->second);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    notes_.clear();
  }

 private:
  [[nodiscard]] CollectiveNote& place(uint32_t id) {
    if (notes_.size() >= kMost && !notes_.contains(id)) notes_.clear();  // their kernels are over
    return notes_[id];
  }

  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, CollectiveNote> notes_;
};

/// Members of "args" of the kernel `name`: Kineto's, in Kineto's order, and then its "Bytes",
/// "Algorithm" and "Protocol". Begins with a comma, or is "".
[[nodiscard]] std::string collective_args(std::string_view name, const CollectiveNote& note);

}  // namespace redline::cupti
