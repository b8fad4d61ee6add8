// Which module each moment of a thread belongs to. See modules.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trace/analysis/host_tree.h"
#include "trace/model/model.h"

namespace redline::trace {

/// Begins the names of the slices around nodes of autograd.
constexpr std::string_view kAutogradNodeName = "autograd::engine::evaluate_function: ";

/// A call of a module, or a node of autograd.
struct ModuleCall {
  static constexpr uint32_t kNone = UINT32_MAX;

  SliceId slice;
  int64_t self_ns = 0;
  uint32_t parent = kNone;   ///< the call around it
  bool is_autograd = false;  ///< a node of autograd
  bool is_within_autograd = false;
  SliceId forward;  ///< of a node of autograd: the operator that made it; none() if unknown
};

class ModuleCalls {
 public:
  explicit ModuleCalls(const Trace& trace);

  /// Sorted by thread, then by begin; a call stands behind the one around it.
  [[nodiscard]] std::span<const ModuleCall> all() const { return calls_; }
  /// The innermost one at a time, or kNone.
  [[nodiscard]] uint32_t at(TrackId track, int64_t time_ns) const;
  [[nodiscard]] uint32_t around(SliceId slice) const;

 private:
  struct Change {
    int64_t time_ns;
    uint32_t call;  ///< from then on
  };
  struct Bounds {
    size_t first = 0, end = 0;
  };

  void add_track(const Track& track, const std::vector<uint8_t>& kinds);
  void add_changes(size_t first_call);
  void find_forward();

  const Trace& trace_;
  std::vector<ModuleCall> calls_;
  std::vector<Change> changes_;  // by track, then by time
  std::vector<Bounds> bounds_;   // in changes_, by track
};

[[nodiscard]] bool has_modules(const Trace& trace);

/// Whether the frame of that name is a call of a module: "nn.Module: Linear_0".
[[nodiscard]] bool is_module_name(std::string_view frame_name);

}  // namespace redline::trace
