// NVTX's extension for payloads of more than one number. A library such as NCCL registers the
// layout of a struct (a schema), and gives the address of such a struct with a range.
//
// Schemas are kept for ever and found without a lock. Only fields that are numbers or values of
// registered enumerations are recorded, not strings, arrays or nested structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/nvtx/nvtx_abi.h"

namespace redline::nvtx {

// The layout of version 1 of the extension, which NVIDIA has frozen (see nvtx_abi.h).
constexpr int32_t kExtendedPayload = static_cast<int32_t>(0xDFBD0009);
constexpr uint16_t kPayloadModule = 2;
enum PayloadFunction : size_t { kSchemaRegister = 0, kEnumRegister = 1 };

struct PayloadData {
  uint64_t schema;
  size_t size;
  const void* data;
};

struct SchemaEntry {
  uint64_t flags;
  uint64_t type;
  const char* name;
  const char* description;
  uint64_t array_or_union;
  uint64_t offset;
  const void* semantics;
  const void* reserved;
};

struct SchemaAttributes {
  uint64_t fields;
  const char* name;
  uint64_t type;
  uint64_t flags;
  const SchemaEntry* entries;
  size_t count;
  size_t static_size;
  size_t alignment;
  uint64_t id;
  void* extension;
};

struct EnumEntry {
  const char* name;
  uint64_t value;
  int8_t is_flag;
};

struct EnumAttributes {
  uint64_t fields;
  const char* name;
  const EnumEntry* entries;
  size_t count;
  size_t size;
  uint64_t id;
  void* extension;
};

struct ExtensionSegment {
  size_t id;
  size_t count;
  intptr_t* functions;
};

struct ExtensionModule {
  uint16_t version;
  uint16_t struct_size;
  uint16_t module;
  uint16_t compatibility;
  size_t segment_count;
  ExtensionSegment* segments;
  const void* get_export_function;
  const void* info;
};

}  // namespace redline::nvtx

namespace redline::profiler {

// Both give the number under which the schema or enumeration is registered, or 0 if there is no
// memory. `domain` is a handle of NVTX.
[[nodiscard]] uint64_t register_schema(const void* domain,
                                       const nvtx::SchemaAttributes& attributes) noexcept;
[[nodiscard]] uint64_t register_enumeration(const void* domain,
                                            const nvtx::EnumAttributes& attributes) noexcept;

/// Members of "args" for the payloads, each with a comma before it. May throw std::bad_alloc.
[[nodiscard]] std::string payload_members(const void* domain, const nvtx::PayloadData* payloads,
                                          size_t count);

}  // namespace redline::profiler

/// Each copy of NVTX calls this once for each of its extensions. Gives 1.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    redline::nvtx::ExtensionModule* module);
