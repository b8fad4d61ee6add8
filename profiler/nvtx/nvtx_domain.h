// NVTX's domains, categories and registered strings. Programs make them once and use them for ever,
// so they are kept even while nothing is recorded, and are never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redline::profiler {

class NvtxDomain {
 public:
  explicit NvtxDomain(std::string name) : name_(std::move(name)) {}

  /// The domain of that name; "" is the default domain.
  [[nodiscard]] static NvtxDomain& named(const std::string& name);
  /// The domain of a handle; null is the default domain.
  [[nodiscard]] static NvtxDomain& of(const void* handle);

  /// Members of "args" that name this domain and, if it is not 0, the category. They stay valid.
  [[nodiscard]] std::string_view members(uint32_t category);
  void name_category(uint32_t category, const std::string& name);

  /// A handle for `text`, the same for the same text.
  [[nodiscard]] const std::string* register_string(std::string text);

 private:
  struct Category {
    uint32_t number;
    std::string members;
    const Category* next;
  };
  [[nodiscard]] const Category* find(uint32_t category) const;
  const Category& add(uint32_t category, const std::string& quoted_name);

  const std::string name_;
  std::atomic<const Category*> categories_ = nullptr;  ///< read without the lock
  std::mutex mutex_;
  std::deque<Category> all_categories_;
  std::unordered_map<std::string, std::string> strings_;
};

/// Converts to UTF-8. wchar_t is UTF-32 on Linux.
[[nodiscard]] std::string to_utf8(const wchar_t* text);
[[nodiscard]] inline std::string to_utf8(const char* text) { return text; }

}  // namespace redline::profiler
