// The names of the user annotations that are pushed as external ids, for their spans on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace redline::cupti {

class AnnotationNames {
 public:
  static constexpr size_t kMost = size_t{1} << 16;

  void add(uint32_t id, std::string_view name) {
    const std::lock_guard lock(mutex_);
    names_.insert_or_assign(id, std::string(name));
    if (names_.size() > kMost) names_.erase(names_.begin());  // the oldest: ids count up
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
