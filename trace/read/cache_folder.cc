#include "trace/read/cache.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/user_switch.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kShareOfFreeDisk = 10;
constexpr std::string_view kEntry = ".trace";
constexpr std::string_view kPartial = ".partial-";
constexpr auto kOldestPartial = std::chrono::hours(1);  // the writer of an older one is surely dead

struct CacheFile {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

// Only files that the cache itself wrote, because the folder may hold others.
std::vector<CacheFile> files_of(const std::string& folder) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_partial = name.find(kPartial) != std::string::npos;
    if (!is_partial && entry->path().extension() != kEntry) continue;
    std::error_code gone;
    const CacheFile file{entry->path(), entry->file_size(gone), entry->last_write_time(gone)};
    if (gone) continue;
    const bool is_left =
        is_partial && fs::file_time_type::clock::now() - file.used > kOldestPartial;
    if (!is_left || !fs::remove(file.path, gone)) files.push_back(file);
  }
  return files;
}

}  // namespace

std::string default_cache_folder() {
  if (user_variable("REDLINE_CACHE") == "off") return "";
  // By the XDG rules a relative path is ignored.
  if (const std::string cache = user_variable("XDG_CACHE_HOME"); cache.starts_with('/')) {
    return cache + "/redline";
  }
  const std::string home = user_variable("HOME");
  return home.starts_with('/') ? home + "/.cache/redline" : "";
}

bool make_cache_room(const std::string& folder, uint64_t bytes, uint64_t largest_total) {
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);  // only the owner may see what they train
  }
  const fs::space_info disk = fs::space(folder, error);
  if (error) return false;
  std::vector<CacheFile> files = files_of(folder);
  uint64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  const uint64_t limit = std::min(largest_total, (disk.available + total) / kShareOfFreeDisk);
  if (bytes > limit) return false;
  std::ranges::sort(files, {}, &CacheFile::used);
  for (const CacheFile& file : files) {
    if (total + bytes <= limit) break;
    if (file.path.extension() != kEntry || !fs::remove(file.path, error)) continue;
    total -= file.bytes;
  }
  return total + bytes <= limit;
}

bool write_cache_file(const std::string& path,
                      const std::function<bool(const ByteSink& write)>& fill) {
  std::string partial = path + std::string(kPartial) + "XXXXXX";
  const FileDescriptor file(::mkostemp(partial.data(), O_CLOEXEC));
  if (file.get() < 0) return false;
  const auto write = [&](std::string_view bytes) { return write_all(file.get(), bytes); };
  if (fill(write) && ::rename(partial.c_str(), path.c_str()) == 0) return true;
  ::unlink(partial.c_str());
  return false;
}

}  // namespace redline::trace
