// NVTX ranges and marks of all libraries in the process as a source of the recorder.
//
// Ranges that are pushed and popped nest on their thread, and become "user_annotation" slices.
// Ranges that are started and ended may overlap and may end on another thread, so they become async
// events of category "nvtx".
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>

#include "profiler/log/per_thread.h"
#include "profiler/nvtx/nvtx_abi.h"
#include "profiler/nvtx/nvtx_domain.h"
#include "profiler/nvtx/nvtx_module.h"
#include "profiler/nvtx/nvtx_payload.h"
#include "profiler/source/source.h"

namespace redline::profiler {
namespace {

using nvtx::EventAttributes;

/// Ranges that are nested deeper are only counted, as in ranges.cc.
constexpr uint32_t kDeepest = 256;
struct OpenNvtxRange {
  const NvtxDomain* domain = nullptr;
  int32_t level = 0;  ///< how many ranges of its domain were open on this thread before
  Record record;      ///< begin_ns is 0 if the range began while nothing was recorded
  OpenSlice* slice = nullptr;
  // For a range that lasts longer than its texts are interned. The name's memory is reused.
  uint32_t name_generation = 0;
  uint32_t category = 0;
  std::string name;
};
struct OpenNvtxRanges {
  OpenNvtxRange open[kDeepest];
  uint32_t depth = 0;
};

std::atomic<uint64_t> g_last_range_id = 0;

struct Message {
  std::string converted;
  std::string_view text = "(unnamed)";
};

void read_message(const EventAttributes& attributes, Message& message) {
  if (attributes.message.ascii == nullptr) return;
  if (attributes.message_type == nvtx::kAscii) message.text = attributes.message.ascii;
  if (attributes.message_type == nvtx::kUnicode) {
    message.text = message.converted = to_utf8(attributes.message.unicode);
  }
  if (attributes.message_type == nvtx::kRegistered) {
    message.text = *static_cast<const std::string*>(attributes.message.registered);
  }
}

void read_payload(const EventAttributes& attributes, NvtxFields& fields) {
  const auto& payload = attributes.payload;
  switch (attributes.payload_type) {
    case nvtx::kUint64:
    case nvtx::kUint32:
      fields.payload_form = PayloadForm::kUnsigned;
      fields.payload.number =
          attributes.payload_type == nvtx::kUint64 ? payload.uint64 : payload.uint32;
      return;
    case nvtx::kInt64:
    case nvtx::kInt32:
      fields.payload_form = PayloadForm::kSigned;
      fields.payload.signed_number =
          attributes.payload_type == nvtx::kInt64 ? payload.int64 : payload.int32;
      return;
    case nvtx::kDouble:
    case nvtx::kFloat:
      fields.payload_form = PayloadForm::kDouble;
      fields.payload.real = attributes.payload_type == nvtx::kDouble
                                ? payload.float64
                                : static_cast<double>(payload.float32);
      return;
    default:
      return;
  }
}

TextId args_of(NvtxDomain& domain, const EventAttributes& attributes) {
  constexpr int32_t kMostPayloads = 16;
  const std::string_view members = domain.members(attributes.category);
  const auto* payloads = reinterpret_cast<const nvtx::PayloadData*>(attributes.payload.uint64);
  const bool has_payloads = attributes.payload_type == nvtx::kExtendedPayload &&
                            payloads != nullptr && attributes.reserved > 0;
  if (!has_payloads) return intern_args(members);
  const auto count = static_cast<size_t>(std::min(attributes.reserved, kMostPayloads));
  return intern_args(std::string(members) + payload_members(&domain, payloads, count));
}

Record describe(NvtxDomain& domain, const EventAttributes& attributes, std::string_view text,
                NvtxPhase phase) {
  Record record;
  record.begin_ns = monotonic_ns();
  record.kind = RecordKind::kNvtx;
  record.name = intern_name(text);
  NvtxFields fields;
  fields.phase = phase;
  fields.args = args_of(domain, attributes);
  read_payload(attributes, fields);
  record.of = fields;
  return record;
}

Record describe(NvtxDomain& domain, const EventAttributes& attributes, NvtxPhase phase) {
  Message message;
  read_message(attributes, message);
  return describe(domain, attributes, message.text, phase);
}

void begin(OpenNvtxRange& open, NvtxDomain& domain, const EventAttributes& attributes) {
  Message message;
  read_message(attributes, message);
  open.name = message.text;
  open.category = attributes.category;
  open.name_generation = name_generation();
  open.record = describe(domain, attributes, message.text, NvtxPhase::kSlice);
  open.slice = begin_slice(open.record);
}

/// Interns the texts of a range again if the text table may have forgotten them since its begin.
/// The members of its payload are lost then.
void refresh(OpenNvtxRange& open, NvtxDomain& domain) {
  if (open.name_generation == name_generation()) return;
  open.record.name = intern_name(open.name);
  open.record.of.nvtx.args = intern_args(domain.members(open.category));
}

EventAttributes with_message(const char* text) {
  EventAttributes attributes = {};
  attributes.message_type = nvtx::kAscii;
  attributes.message.ascii = text;
  return attributes;
}

EventAttributes with_message(const wchar_t* text) {
  EventAttributes attributes = {};
  attributes.message_type = nvtx::kUnicode;
  attributes.message.unicode = text;
  return attributes;
}

/// Lets no exception cross the C boundary. Only a lack of memory can throw one.
template <typename Body>
auto without_exceptions(Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return decltype(body())();
  }
}

/// To be called before the event is recorded, so that the event is part of the step that it begins.
void see(const EventAttributes* attributes) {
  if (attributes == nullptr || !has_step_marker()) return;
  Message message;
  read_message(*attributes, message);
  see_marker(message.text);
}

void mark(const void* domain, const EventAttributes* attributes) noexcept {
  without_exceptions([&] { see(attributes); });
  if (attributes == nullptr || !is_recording()) return;
  without_exceptions(
      [&] { submit(describe(NvtxDomain::of(domain), *attributes, NvtxPhase::kMark)); });
}

int32_t level_in(const NvtxDomain& domain, const OpenNvtxRanges& ranges) {
  for (uint32_t i = std::min(ranges.depth, kDeepest); i > 0; --i) {
    if (ranges.open[i - 1].domain == &domain) return ranges.open[i - 1].level + 1;
  }
  return 0;
}

/// Gives the number of the domain's ranges that were open before, as NVTX expects.
int push(const void* handle, const EventAttributes* attributes) noexcept {
  return without_exceptions([&] {
    see(attributes);
    NvtxDomain& domain = NvtxDomain::of(handle);
    OpenNvtxRanges* const ranges = PerThread<OpenNvtxRanges>::get();
    if (ranges == nullptr) return 0;
    const int32_t level = level_in(domain, *ranges);
    const uint32_t depth = ranges->depth++;
    if (depth >= kDeepest) return level;
    OpenNvtxRange& open = ranges->open[depth];
    open.domain = &domain;
    open.level = level;
    open.record.begin_ns = 0;
    open.slice = nullptr;
    if (attributes != nullptr && is_recording()) begin(open, domain, *attributes);
    return level;
  });
}

/// Gives the level of the range that ends, or a negative number if there is none, as NVTX expects.
int pop(const void* handle) noexcept {
  NvtxDomain& domain = NvtxDomain::of(handle);
  OpenNvtxRanges* const ranges = PerThread<OpenNvtxRanges>::get();
  if (ranges == nullptr) return -1;
  auto& [open, depth] = *ranges;
  if (depth > kDeepest) return static_cast<int>(--depth);
  uint32_t at = depth;
  while (at > 0 && open[at - 1].domain != &domain) --at;
  if (at == 0) return -1;
  // Ranges of other domains may be open within it. They stay open.
  std::rotate(open + at - 1, open + at, open + depth);
  OpenNvtxRange& ended = open[--depth];
  if (ended.record.begin_ns != 0) {
    without_exceptions([&] { refresh(ended, domain); });
    ended.record.of.nvtx.end_ns = monotonic_ns();
    end_slice(ended.slice, ended.record);
  }
  return ended.level;
}

uint64_t start(const void* domain, const EventAttributes* attributes) noexcept {
  const uint64_t id = g_last_range_id.fetch_add(1, std::memory_order_relaxed) + 1;
  if (attributes == nullptr || !is_recording()) return id;
  without_exceptions([&] {
    Record record = describe(NvtxDomain::of(domain), *attributes, NvtxPhase::kStart);
    record.of.nvtx.range = id;
    submit(record);
  });
  return id;
}

void end(uint64_t id) noexcept {
  if (!is_recording()) return;
  Record record;
  record.begin_ns = monotonic_ns();
  record.kind = RecordKind::kNvtx;
  NvtxFields fields;
  fields.phase = NvtxPhase::kEnd;
  fields.range = id;
  record.of = fields;
  submit(record);
}

template <typename Char>
void mark_text(const Char* text) {
  const auto attributes = with_message(text);
  mark(nullptr, &attributes);
}

template <typename Char>
int push_text(const Char* text) {
  const auto attributes = with_message(text);
  return push(nullptr, &attributes);
}

template <typename Char>
uint64_t start_text(const Char* text) {
  const auto attributes = with_message(text);
  return start(nullptr, &attributes);
}

template <typename Char>
void name_category(const void* domain, uint32_t category, const Char* name) noexcept {
  if (name == nullptr) return;
  without_exceptions([&] { NvtxDomain::of(domain).name_category(category, to_utf8(name)); });
}

template <typename Char>
const void* register_string(const void* domain, const Char* text) noexcept {
  if (text == nullptr) return nullptr;
  return without_exceptions(
      [&]() -> const void* { return NvtxDomain::of(domain).register_string(to_utf8(text)); });
}

template <typename Char>
const void* create_domain(const Char* name) noexcept {
  if (name == nullptr) return nullptr;
  return without_exceptions([&]() -> const void* { return &NvtxDomain::named(to_utf8(name)); });
}

void serve_core(const NvtxModule& core) {
  core.set(
      nvtx::kMarkEx, +[](const EventAttributes* event) { mark(nullptr, event); });
  core.set(nvtx::kMarkA, mark_text<char>);
  core.set(nvtx::kMarkW, mark_text<wchar_t>);
  core.set(
      nvtx::kRangeStartEx, +[](const EventAttributes* event) { return start(nullptr, event); });
  core.set(nvtx::kRangeStartA, start_text<char>);
  core.set(nvtx::kRangeStartW, start_text<wchar_t>);
  core.set(nvtx::kRangeEnd, end);
  core.set(
      nvtx::kRangePushEx, +[](const EventAttributes* event) { return push(nullptr, event); });
  core.set(nvtx::kRangePushA, push_text<char>);
  core.set(nvtx::kRangePushW, push_text<wchar_t>);
  core.set(
      nvtx::kRangePop, +[] { return pop(nullptr); });
  core.set(
      nvtx::kNameCategoryA,
      +[](uint32_t number, const char* name) { name_category(nullptr, number, name); });
  core.set(
      nvtx::kNameCategoryW,
      +[](uint32_t number, const wchar_t* name) { name_category(nullptr, number, name); });
}

void serve_domains(const NvtxModule& domains) {
  domains.set(nvtx::kDomainMarkEx, mark);
  domains.set(nvtx::kDomainRangeStartEx, start);
  domains.set(
      nvtx::kDomainRangeEnd, +[](const void*, uint64_t id) { end(id); });
  domains.set(nvtx::kDomainRangePushEx, push);
  domains.set(nvtx::kDomainRangePop, pop);
  domains.set(nvtx::kDomainNameCategoryA, name_category<char>);
  domains.set(nvtx::kDomainNameCategoryW, name_category<wchar_t>);
  domains.set(nvtx::kDomainRegisterStringA, register_string<char>);
  domains.set(nvtx::kDomainRegisterStringW, register_string<wchar_t>);
  domains.set(nvtx::kDomainCreateA, create_domain<char>);
  domains.set(nvtx::kDomainCreateW, create_domain<wchar_t>);
}

}  // namespace
}  // namespace redline::profiler

int InitializeInjectionNvtx2(redline::nvtx::GetExportTable get_export_table) {
  using namespace redline;
  const auto* callbacks =
      static_cast<const nvtx::CallbackTable*>(get_export_table(nvtx::kCallbackTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(nvtx::CallbackTable)) return 0;
  profiler::serve_core(profiler::NvtxModule(*callbacks, nvtx::kCore));
  profiler::serve_domains(profiler::NvtxModule(*callbacks, nvtx::kDomains));
  profiler::serve_stream_names({*callbacks, nvtx::kCuda}, {*callbacks, nvtx::kCudaRuntime});
  return 1;
}
