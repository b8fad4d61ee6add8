// Keeps facts about collectives by external id until their kernels come: what the operator said of
// the collective that it started, and which algorithm NCCL chose for it.
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
  std::string members = {};    ///< members of "args" of the operator record_param_comms
  std::string algorithm = {};  ///< from NCCL's profiler plugin, such as "RING"; "" without it
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
    // A full map is emptied: the kernels of nearly all its notes have come.
    if (notes_.size() >= kMost && !notes_.contains(id)) notes_.clear();
    return notes_[id];
  }

  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, CollectiveNote> notes_;
};

/// Members of "args" for the kernel `name`: first Kineto's, in Kineto's order, then "Bytes",
/// "Algorithm" and "Protocol". The text begins with a comma, or is empty.
[[nodiscard]] std::string collective_args(std::string_view name, const CollectiveNote& note);

}  // namespace redline::cupti
