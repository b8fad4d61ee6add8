#include "profiler/nvtx/nvtx_domain.h"

#include "trace/emit/text_buffer.h"

namespace redline::profiler {

NvtxDomain& NvtxDomain::named(const std::string& name) {
  static auto* const mutex = new std::mutex;
  static auto* const domains = new std::unordered_map<std::string, NvtxDomain*>;
  const std::lock_guard lock(*mutex);
  NvtxDomain*& domain = (*domains)[name];
  if (domain == nullptr) domain = new NvtxDomain(name);
  return *domain;
}

NvtxDomain& NvtxDomain::of(const void* handle) {
  static NvtxDomain& default_domain = named("");
  if (handle == nullptr) return default_domain;
  return *static_cast<NvtxDomain*>(const_cast<void*>(handle));
}

const NvtxDomain::Category* NvtxDomain::find(uint32_t category) const {
  const Category* known = categories_.load(std::memory_order_acquire);
  while (known != nullptr && known->number != category) known = known->next;
  return known;
}

std::string_view NvtxDomain::members(uint32_t category) {
  if (const Category* known = find(category)) return known->members;
  const std::lock_guard lock(mutex_);
  if (const Category* known = find(category)) return known->members;
  return add(category, std::to_string(category)).members;
}

void NvtxDomain::name_category(uint32_t category, const std::string& name) {
  const std::lock_guard lock(mutex_);
  add(category, trace::json_string(name));
}

/// Puts the category at the head of the list, so that a category's last name is found first.
const NvtxDomain::Category& NvtxDomain::add(uint32_t category, const std::string& quoted_name) {
  std::string members = "\"Domain\": " + trace::json_string(name_.empty() ? "default" : name_);
  if (category != 0) members += ", \"Category\": " + quoted_name;
  all_categories_.push_back({category, std::move(members), categories_.load()});
  categories_.store(&all_categories_.back(), std::memory_order_release);
  return all_categories_.back();
}

const std::string* NvtxDomain::register_string(std::string text) {
  const std::lock_guard lock(mutex_);
  return &strings_.try_emplace(text, text).first->second;
}

std::string to_utf8(const wchar_t* text) {
  std::string bytes;
  const auto append = [&bytes](uint32_t byte) { bytes += static_cast<char>(byte); };
  for (; *text != L'\0'; ++text) {
    const auto code = static_cast<uint32_t>(*text);
    if (code < 0x80) {
      append(code);
      continue;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    append((0xFF00u >> (more + 1) & 0xFFu) | code >> 6 * more);
    for (int left = more - 1; left >= 0; --left) append(0x80 | (code >> 6 * left & 0x3F));
  }
  return bytes;
}

}  // namespace redline::profiler
