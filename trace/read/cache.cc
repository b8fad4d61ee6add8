#include "trace/read/cache.h"

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/file.h"
#include "trace/model/columns.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

// Must be raised whenever the reader makes another trace of the same text, or a struct of model.h
// changes.
constexpr uint32_t kFormatVersion = 7;
constexpr uint32_t kByteOrder = 0x01020304;
constexpr std::array<char, 8> kMagic = {'R', 'E', 'D', 'L', 'T', 'R', 'C', '\n'};
constexpr size_t kColumnsBegin = 4096;  // a page, so that they are aligned when mapped

// The columns follow at kColumnsBegin, then the tables, then the trace's path.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kFormatVersion;
  uint32_t byte_order = kByteOrder;
  FileStamp source;
  uint64_t slices = 0;
  uint64_t columns_bytes = 0;
  uint64_t tables_bytes = 0;
  uint64_t path_bytes = 0;
  uint32_t columns_checksum = 0;
  uint32_t tables_checksum = 0;
};
static_assert(std::has_unique_object_representations_v<Header>);
static_assert(sizeof(Header) + sizeof(uint32_t) <= kColumnsBegin);

/// Of `bytes`, or of all since the one that is `before`.
uint32_t checksum_of(std::string_view bytes, uint32_t before = 0) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

template <typename Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string_view columns_of(const Trace& trace) {
  return {reinterpret_cast<const char*>(trace.slices().begin_ns.data()),
          SliceColumns::bytes_of(trace.slice_count())};
}

// The header and its checksum, padded up to where the columns begin.
std::string first_page(const Header& header) {
  const uint32_t checksum = checksum_of(bytes_of(header));
  std::string page(bytes_of(header));
  page += bytes_of(checksum);
  page.resize(kColumnsBegin, '\0');
  return page;
}

bool fits(const Header& header, const FileStamp& source, std::string_view file) {
  const uint64_t body = file.size() - kColumnsBegin;
  return header.magic == kMagic && header.version == kFormatVersion &&
         header.byte_order == kByteOrder && header.source == source &&
         file.substr(0, kColumnsBegin) == first_page(header) && header.slices <= UINT32_MAX &&
         header.columns_bytes == SliceColumns::bytes_of(header.slices) &&
         header.columns_bytes <= body && header.tables_bytes <= body - header.columns_bytes &&
         header.path_bytes == body - header.columns_bytes - header.tables_bytes;
}

uint64_t stable_hash_of(std::string_view text) {  // FNV-1a: the same in every process
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::shared_ptr<const ColumnMemory> map_file(int file) {
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  const auto bytes = static_cast<size_t>(info.st_size);
  if (bytes < kColumnsBegin) return nullptr;
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  return mapping == MAP_FAILED ? nullptr : ColumnMemory::adopt(mapping, bytes);
}

}  // namespace

TraceCache::TraceCache(std::string path, std::shared_ptr<const Text> text,
                       const CacheOptions& options)
    : path_(std::move(path)), text_(std::move(text)), options_(options) {
  if (!options.enabled) return;
  folder_ = options.folder.empty() ? default_cache_folder() : options.folder;
  std::error_code error;
  source_ = fs::canonical(path_, error).string();
  if (error || folder_.empty()) return;
  entry_ = fmt::format("{}/{:016x}.trace", folder_, stable_hash_of(source_));
}

std::shared_ptr<const Trace> TraceCache::load() const {
  if (entry_.empty()) return nullptr;
  const FileDescriptor file(entry_.c_str());
  const auto memory = map_file(file.get());
  if (!memory) return nullptr;
  const std::string_view bytes(reinterpret_cast<const char*>(memory->data()), memory->size());
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!fits(header, text_->stamp(), bytes)) return nullptr;
  const std::string_view columns = bytes.substr(kColumnsBegin, header.columns_bytes);
  const std::string_view rest = bytes.substr(kColumnsBegin + header.columns_bytes);
  if (rest.substr(header.tables_bytes) != source_ || checksum_of(rest) != header.tables_checksum ||
      checksum_of(columns) != header.columns_checksum) {
    return nullptr;
  }
  try {
    auto trace = std::make_shared<Trace>();
    // The pages are write-protected, but from here on they are only read.
    auto* const begin = const_cast<std::byte*>(memory->data()) + kColumnsBegin;
    trace->slices_ = SliceColumns::in(begin, header.slices).view();
    if (!CacheTables::decode(rest.substr(0, header.tables_bytes), *trace)) return nullptr;
    trace->path_ = path_;
    trace->columns_ = memory;
    trace->text_ = text_;
    ::futimens(file.get(), nullptr);  // marks it as used now
    return trace;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool TraceCache::has_entry() const {
  return !entry_.empty() && ::access(entry_.c_str(), R_OK) == 0;
}

bool TraceCache::is_unchanged() const {
  struct stat now {};
  return ::stat(source_.c_str(), &now) == 0 && FileStamp::of(now) == text_->stamp();
}

void TraceCache::store(const Trace& trace) const {
  if (entry_.empty() || text_->size() < options_.smallest_text_bytes) return;
  if (!is_unchanged()) return;  // the file changed while it was read
  try {
    const std::string_view columns = columns_of(trace);
    Header header;
    const auto add = [&](std::string_view tables) {
      header.tables_bytes += tables.size();
      header.tables_checksum = checksum_of(tables, header.tables_checksum);
      return true;
    };
    static_cast<void>(CacheTables::encode(trace, add));
    header.source = text_->stamp();
    header.slices = trace.slice_count();
    header.columns_bytes = columns.size();
    header.path_bytes = source_.size();
    header.columns_checksum = checksum_of(columns);
    header.tables_checksum = checksum_of(source_, header.tables_checksum);
    const std::string page = first_page(header);
    const uint64_t bytes = page.size() + columns.size() + header.tables_bytes + source_.size();
    if (!make_cache_room(folder_, bytes, options_.largest_total_bytes)) return;
    const auto fill = [&](const ByteSink& write) {
      return write(page) && write(columns) && CacheTables::encode(trace, write) && write(source_);
    };
    static_cast<void>(write_cache_file(entry_, fill));
  } catch (const std::exception&) {
    // No memory, or no such folder: then the trace is simply read again the next time.
  }
}

void TraceCache::store_in_background(const Trace& trace) const {
  if (entry_.empty() || text_->size() < options_.smallest_text_bytes) return;
  try {
    trace.storing_ = std::jthread([cache = *this, &trace] { cache.store(trace); });
  } catch (const std::system_error&) {
    // Without a thread there is no cache.
  }
}

}  // namespace redline::trace
