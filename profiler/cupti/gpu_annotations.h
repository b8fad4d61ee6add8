// Kineto's "gpu_user_annotation": on each stream, a span for a user's annotation covers the work
// that was launched inside it. The annotation's id is pushed to CUPTI; its name is kept here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profiler/cupti/launches.h"

namespace redline::cupti {

class GpuAnnotations {
 public:
  struct Span {
    uint32_t annotation = 0;
    uint32_t device = 0;
    uint32_t stream = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };

  void extend(uint32_t annotation, uint32_t device, uint32_t stream, int64_t begin_ns,
              int64_t end_ns) {
    const auto [span, is_new] = spans_.try_emplace(
        {annotation, device, stream}, Span{annotation, device, stream, begin_ns, end_ns});
    if (is_new) return;
    span->second.begin_ns = std::min(span->second.begin_ns, begin_ns);
    span->second.end_ns = std::max(span->second.end_ns, end_ns);
  }

  /// Removes and gives the spans that ended before `time_ns`.
  [[nodiscard]] std::vector<Span> take(int64_t time_ns) {
    std::vector<Span> taken;
    for (auto at = spans_.begin(); at != spans_.end();) {
      if (at->second.end_ns >= time_ns) {
        ++at;
      } else {
        taken.push_back(at->second);
        at = spans_.erase(at);
      }
    }
    return taken;
  }

 private:
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Span> spans_;
};

class AnnotationNames {
 public:
  static constexpr size_t kMost = size_t{1} << 16;

  void add(uint32_t id, std::string_view name) {
    const std::lock_guard lock(mutex_);
    names_.insert_or_assign(id, std::string(name));
    if (names_.size() > kMost) names_.erase(names_.begin());  // the oldest, because ids count up
  }
  [[nodiscard]] std::string find(uint32_t id) const {
    const std::lock_guard lock(mutex_);
    const auto name = names_.find(id);
    return name == names_.end() ? std::string("(name not kept)") : name->second;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    names_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint32_t, std::string> names_;
};

}  // namespace redline::cupti
