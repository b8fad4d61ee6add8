// Decodes any bytes as a buffer of CUPTI's, with a library that may say anything about where
// records begin. Nothing outside the buffer may be read, and every record must be counted once.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "profiler/cupti/record_spool.h"

namespace {

/// Reads every byte of each record. The checksum keeps the compiler from leaving that out.
struct Reader {
  uint64_t records = 0;
  uint64_t sum = 0;

  template <typename Record>
  void on(const Record& record) {
    ++records;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
    for (size_t i = 0; i < sizeof(record); ++i) sum = sum * 31 + bytes[i];
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redline::cupti;
  if (size < 2) return 0;
  // The first byte says how far apart records are; the second says how the library ends and which
  // version it has.
  const size_t step = data[0];
  const Result last = data[1] % 2 == 0 ? kMaxLimitReached : 999;
  const uint32_t version = data[1] % 4 < 2 ? kVersion11_8 : kVersion13_1;
  std::vector<uint8_t> buffer(data + 2, data + size);
  uint64_t steps = 0;
  const auto next = [&](uint8_t* begin, size_t valid_size, uint8_t** record) -> Result {
    const size_t at = *record == nullptr ? 0 : static_cast<size_t>(*record - begin) + step;
    if (at >= valid_size && last == kMaxLimitReached) return last;
    if (at > valid_size + step) return last;
    *record = begin + at;
    ++steps;
    return kSuccess;
  };
  Reader reader;
  const DecodeCounts counts = decode_buffer(buffer.data(), buffer.size(), version, next, reader);
  if (counts.records != reader.records) std::abort();
  if (counts.records + counts.unknown + counts.truncated > steps + 1) std::abort();
  // Records that were compacted for the disk and decoded again must be the same.
  std::vector<uint8_t> compacted;
  Reader again;
  static_cast<void>(compact(buffer.data(), buffer.size(), version, next, compacted));
  static_cast<void>(
      decode_buffer(compacted.data(), compacted.size(), version, next_compact, again));
  if (again.records != reader.records || again.sum != reader.sum) std::abort();
  return 0;
}
