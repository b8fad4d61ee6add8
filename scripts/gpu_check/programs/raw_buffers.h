// Reads and writes a file of CUPTI's buffers as the library handed them over, for tests on machines
// without a GPU.
//
// Records have kernels' names as pointers into the process that made them, so the file also has the
// names. Its layout, little-endian:
//   "RLCUPTI1"  u32 cuptiGetVersion()  u32 buffers  u32 names
//   each buffer: u64 size, bytes       each name: u64 address, u32 size, bytes
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpu_check {

struct RawBuffers {
  static constexpr char kMagic[9] = "RLCUPTI1";
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  uint32_t version = 0;
  std::vector<std::vector<uint8_t>> buffers;
  std::map<uint64_t, std::string> names;

  [[nodiscard]] bool save(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(kMagic, 8);
    put<uint32_t>(file, version);
    put<uint32_t>(file, buffers.size());
    put<uint32_t>(file, names.size());
    for (const auto& buffer : buffers) {
      put<uint64_t>(file, buffer.size());
      file.write(reinterpret_cast<const char*>(buffer.data()),
                 static_cast<std::streamsize>(buffer.size()));
    }
    for (const auto& [address, name] : names) {
      put<uint64_t>(file, address);
      put<uint32_t>(file, name.size());
      file.write(name.data(), static_cast<std::streamsize>(name.size()));
    }
    file.close();
    return !file.fail();
  }

  /// nullopt if the file is not whole.
  static std::optional<RawBuffers> load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char magic[8] = "";
    file.read(magic, 8);
    if (std::memcmp(magic, kMagic, 8) != 0) return std::nullopt;
    RawBuffers raw;
    raw.version = get<uint32_t>(file);
    const auto buffer_count = get<uint32_t>(file);
    const auto name_count = get<uint32_t>(file);
    for (uint32_t i = 0; i < buffer_count && file; ++i) {
      const auto size = get<uint64_t>(file);
      if (size > kMostBytes) return std::nullopt;
      raw.buffers.emplace_back(size);
      file.read(reinterpret_cast<char*>(raw.buffers.back().data()),
                static_cast<std::streamsize>(size));
    }
    for (uint32_t i = 0; i < name_count && file; ++i) {
      const auto address = get<uint64_t>(file);
      const auto size = get<uint32_t>(file);
      if (size > kMostBytes) return std::nullopt;
      std::string name(size, '\0');
      file.read(name.data(), size);
      raw.names[address] = name;
    }
    return file ? std::optional(raw) : std::nullopt;
  }

 private:
  template <typename Number>
  static void put(std::ofstream& file, size_t number) {
    const auto written = static_cast<Number>(number);
    file.write(reinterpret_cast<const char*>(&written), sizeof(written));
  }
  template <typename Number>
  static Number get(std::ifstream& file) {
    Number number = 0;
    file.read(reinterpret_cast<char*>(&number), sizeof(number));
    return number;
  }
};

}  // namespace gpu_check
