// NVTX's extension for payloads of more than one number: libraries such as NCCL register how a
// struct of theirs is laid out, and give its address with a range.
//
// Schemas are kept for ever and found without a lock. Fields that are no number or registered
// enumeration (strings, arrays, structs in structs) are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/nvtx/nvtx_abi.h"

namespace redline::nvtx {

// As with nvtx_abi.h: the form of the extension's version 1, frozen by NVIDIA.
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

/// Their numbers, 0 where there is no memory. `domain` is a handle of NVTX's.
[[nodiscard]] uint64_t register_schema(const void* domain,
                                       const nvtx::SchemaAttributes& attributes) noexcept;
[[nodiscard]] uint64_t register_enumeration(const void* domain,
                                            const nvtx::EnumAttributes& attributes) noexcept;

/// More members of "args": each begins with a comma. May throw.
[[nodiscard]] std::string payload_members(const void* domain, const nvtx::PayloadData* payloads,
                                          size_t count);

}  // namespace redline::profiler

/// Called once for each extension that a copy of NVTX has. Gives 1.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    redline::nvtx::ExtensionModule* module);
