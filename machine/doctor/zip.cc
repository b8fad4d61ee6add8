#include "machine/doctor/zip.h"

#include <zlib.h>

#include <cstdint>

namespace redline::doctor {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kStored = 0;
constexpr uint16_t kFirstDay = 0x21;  ///< 1980-01-01, the earliest date of the format

void put16(std::string& out, size_t value) {
  out += static_cast<char>(value & 0xff);
  out += static_cast<char>(value >> 8 & 0xff);
}

void put32(std::string& out, size_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16 & 0xffff);
}

/// The part that is the same in the header before a file and in its line in the directory.
std::string description(const ZipEntry& entry) {
  const auto* bytes = reinterpret_cast<const Bytef*>(entry.content.data());
  std::string out;
  put16(out, kVersion);
  put16(out, kUtf8Names);
  put16(out, kStored);
  put16(out, 0);  // time
  put16(out, kFirstDay);
  put32(out, crc32_z(0, bytes, entry.content.size()));
  put32(out, entry.content.size());
  put32(out, entry.content.size());
  put16(out, entry.name.size());
  put16(out, 0);  // extra fields
  return out;
}

std::string directory_line(const ZipEntry& entry, size_t offset) {
  std::string out;
  put32(out, kCentralHeader);
  put16(out, kVersion);
  out += description(entry);
  put16(out, 0);  // comment
  put16(out, 0);  // disk
  put16(out, 0);  // attributes
  put32(out, 0);
  put32(out, offset);
  return out + entry.name;
}

}  // namespace

std::string zip_of(const std::vector<ZipEntry>& entries) {
  std::string out, directory;
  for (const ZipEntry& entry : entries) {
    directory += directory_line(entry, out.size());
    put32(out, kLocalHeader);
    out += description(entry) + entry.name + entry.content;
  }
  const size_t begin = out.size();
  out += directory;
  put32(out, kEnd);
  put32(out, 0);  // disks
  put16(out, entries.size());
  put16(out, entries.size());
  put32(out, directory.size());
  put32(out, begin);
  put16(out, 0);  // comment
  return out;
}

}  // namespace redline::doctor
