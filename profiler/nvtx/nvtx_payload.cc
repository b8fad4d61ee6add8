#include "profiler/nvtx/nvtx_payload.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "profiler/nvtx/nvtx_domain.h"
#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

constexpr uint64_t kFirstOwnId = uint64_t{1} << 32;  // above all ids that programs choose
constexpr uint64_t kFirstRegistered = 1 << 24;       // smaller numbers are plain types
// Flags of fields that are not recorded: pointers, offsets, arrays, and hidden fields.
constexpr uint64_t kNotANumber = (1 << 1) | (1 << 2) | (1 << 3) | (7 << 4) | (1 << 9);

enum class Form : uint8_t { kNone, kSigned, kUnsigned, kReal };

struct Plain {
  Form form = Form::kNone;
  size_t size = 0;
};

// NVTX_PAYLOAD_ENTRY_TYPE_…: C's types, types of fixed size, and ids of processors, threads and
// handles.
constexpr auto kPlainTypes = [] {
  std::array<Plain, 75> types{};
  const auto are = [&](Form form, size_t size, std::initializer_list<size_t> ids) {
    for (const size_t id : ids) types[id] = {form, size};
  };
  are(Form::kSigned, 1, {11});
  are(Form::kSigned, 2, {3, 13});
  are(Form::kSigned, 4, {5, 15});
  are(Form::kSigned, 8, {7, 9, 17});
  are(Form::kUnsigned, 1, {2, 12, 32});
  are(Form::kUnsigned, 2, {4, 14});
  are(Form::kUnsigned, 4, {6, 16, 68, 69, 71, 73});
  are(Form::kUnsigned, 8, {8, 10, 18, 22, 23, 70, 72, 74});
  are(Form::kReal, 4, {19, 43});
  are(Form::kReal, 8, {20, 44});
  return types;
}();

Plain plain_type(uint64_t type) { return type < kPlainTypes.size() ? kPlainTypes[type] : Plain{}; }

struct Field {
  std::string key;  ///< with quotes
  uint64_t type;
  size_t offset;
};

/// A schema or an enumeration of a domain.
struct Registered {
  const void* domain;
  uint64_t id;
  std::vector<Field> fields;
  std::vector<std::pair<uint64_t, std::string>> values;  ///< of an enumeration; names with quotes
  size_t size = 0;                                       ///< of an enumeration
  const Registered* next = nullptr;
};

std::atomic<const Registered*> g_registered = nullptr;
std::atomic<uint64_t> g_last_id = kFirstOwnId;

/// If an id was registered twice, the last one is found.
const Registered* find(const void* domain, uint64_t id) {
  const Registered* each = g_registered.load(std::memory_order_acquire);
  while (each != nullptr && (each->id != id || each->domain != domain)) each = each->next;
  return each;
}

uint64_t keep(std::unique_ptr<Registered> made) {
  if (made->id == 0) made->id = g_last_id.fetch_add(1) + 1;
  Registered* kept = made.release();
  const uint64_t id = kept->id;
  kept->next = g_registered.load();
  while (!g_registered.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
  }
  return id;
}

size_t size_of(const void* domain, uint64_t type) {
  if (type < kFirstRegistered) return plain_type(type).size;
  const Registered* other = find(domain, type);
  return other != nullptr ? other->size : 0;
}

/// Lays out the fields. A field that gives no offset lies behind the one before, where a compiler
/// would put it.
std::vector<Field> fields_of(const void* domain, const nvtx::SchemaAttributes& attributes) {
  std::vector<Field> fields;
  size_t end = 0;
  for (size_t i = 0; i < attributes.count; ++i) {
    const nvtx::SchemaEntry& entry = attributes.entries[i];
    const size_t size = std::max(size_of(domain, entry.type), size_t{1});
    size_t offset = entry.offset;
    if (offset == 0 && i > 0) offset = (end + size - 1) / size * size;
    end = offset + size;
    if (entry.name == nullptr || (entry.flags & kNotANumber) != 0) continue;
    fields.push_back({trace::json_string(entry.name), entry.type, offset});
  }
  return fields;
}

uint64_t read_unsigned(const char* data, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, data, std::min(size, sizeof(value)));  // right on little-endian machines
  return value;
}

int64_t read_signed(const char* data, size_t size) {
  const auto unused = static_cast<int>(64 - 8 * size);
  return static_cast<int64_t>(read_unsigned(data, size) << unused) >> unused;
}

double read_real(const char* data, size_t size) {
  float narrow = 0;
  double wide = 0;
  if (size == sizeof(narrow)) std::memcpy(&narrow, data, size);
  if (size == sizeof(wide)) std::memcpy(&wide, data, size);
  return size == sizeof(narrow) ? static_cast<double>(narrow) : wide;
}

std::string value_text(const void* domain, uint64_t type, const char* data, size_t room) {
  const size_t size = size_of(domain, type);
  if (size == 0 || size > room) return "";
  if (type >= kFirstRegistered) {
    const Registered* enumeration = find(domain, type);
    const uint64_t value = read_unsigned(data, size);
    for (const auto& [known, name] : enumeration->values) {
      if (known == value) return name;
    }
    return std::to_string(value);
  }
  switch (plain_type(type).form) {
    case Form::kSigned:
      return std::to_string(read_signed(data, size));
    case Form::kUnsigned:
      return std::to_string(read_unsigned(data, size));
    case Form::kReal: {
      trace::TextBuffer text;
      text.number(read_real(data, size));
      return std::string(text.view());
    }
    case Form::kNone:
      return "";
  }
  return "";
}

}  // namespace

uint64_t register_schema(const void* domain, const nvtx::SchemaAttributes& attributes) noexcept {
  if (attributes.entries == nullptr) return 0;
  try {
    auto made = std::make_unique<Registered>();
    made->domain = &NvtxDomain::of(domain);
    made->id = attributes.id;
    made->fields = fields_of(made->domain, attributes);
    return keep(std::move(made));
  } catch (const std::exception&) {
    return 0;
  }
}

uint64_t register_enumeration(const void* domain, const nvtx::EnumAttributes& attributes) noexcept {
  if (attributes.entries == nullptr || attributes.size > sizeof(uint64_t)) return 0;
  try {
    auto made = std::make_unique<Registered>();
    made->domain = &NvtxDomain::of(domain);
    made->id = attributes.id;
    made->size = attributes.size;
    for (size_t i = 0; i < attributes.count; ++i) {
      const nvtx::EnumEntry& entry = attributes.entries[i];
      if (entry.name != nullptr) {
        made->values.emplace_back(entry.value, trace::json_string(entry.name));
      }
    }
    return keep(std::move(made));
  } catch (const std::exception&) {
    return 0;
  }
}

std::string payload_members(const void* domain, const nvtx::PayloadData* payloads, size_t count) {
  std::string members;
  domain = &NvtxDomain::of(domain);
  for (size_t i = 0; i < count; ++i) {
    const nvtx::PayloadData& payload = payloads[i];
    const Registered* schema = find(domain, payload.schema);
    if (schema == nullptr || payload.data == nullptr) continue;
    for (const Field& field : schema->fields) {
      if (field.offset >= payload.size) continue;
      const std::string value =
          value_text(domain, field.type, static_cast<const char*>(payload.data) + field.offset,
                     payload.size - field.offset);
      if (!value.empty()) members += ", " + field.key + ": " + value;
    }
  }
  return members;
}

}  // namespace redline::profiler

int InitializeInjectionNvtxExtension(redline::nvtx::ExtensionModule* module) {
  using namespace redline;
  if (module == nullptr || module->module != nvtx::kPayloadModule || module->segment_count == 0) {
    return 1;  // NVTX gives other extensions functions that do nothing
  }
  const nvtx::ExtensionSegment& segment = module->segments[0];
  const auto set = [&](size_t number, auto* function) {
    if (number < segment.count) segment.functions[number] = reinterpret_cast<intptr_t>(function);
  };
  set(
      nvtx::kSchemaRegister, +[](const void* domain, const nvtx::SchemaAttributes* attributes) {
        return attributes != nullptr ? profiler::register_schema(domain, *attributes) : 0;
      });
  set(
      nvtx::kEnumRegister, +[](const void* domain, const nvtx::EnumAttributes* attributes) {
        return attributes != nullptr ? profiler::register_enumeration(domain, *attributes) : 0;
      });
  return 1;
}
