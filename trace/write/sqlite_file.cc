#include "trace/write/sqlite_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

std::string system_error(const std::string& path) { return path + ": " + std::strerror(errno); }

tl::expected<void, std::string> synchronise(const std::string& path) {
  const FileDescriptor file(path.c_str());
  if (file.get() >= 0 && ::fsync(file.get()) == 0) return {};
  return tl::unexpected(system_error(path));
}

}  // namespace

SqliteInsert::SqliteInsert(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  note(
      sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

SqliteInsert& SqliteInsert::add(int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), next_++, value));
  return *this;
}

SqliteInsert& SqliteInsert::add(double value) {
  note(sqlite3_bind_double(statement_.get(), next_++, value));
  return *this;
}

SqliteInsert& SqliteInsert::add(std::string_view text) {
  note(sqlite3_bind_text64(statement_.get(), next_++, text.data() == nullptr ? "" : text.data(),
                           text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

SqliteInsert& SqliteInsert::null() {
  note(sqlite3_bind_null(statement_.get(), next_++));
  return *this;
}

void SqliteInsert::row() {
  next_ = 1;
  if (status_ != SQLITE_OK) return;
  if (const int status = sqlite3_step(statement_.get()); status != SQLITE_DONE) note(status);
  sqlite3_reset(statement_.get());
}

tl::expected<SqliteFile, std::string> SqliteFile::create(const std::string& path) {
  if (auto why = why_not_overwrite(path)) return tl::unexpected(*why);
  std::error_code ignored;
  const std::string partial = partial_path(path);
  fs::remove(partial, ignored);  // left by an export that was killed, of the same PID
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(partial.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  SqliteFile file(path, handle);
  if (status != SQLITE_OK) return tl::unexpected(file.error());
  const std::string setup =
      "PRAGMA page_size=16384; PRAGMA journal_mode=OFF;"
      "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
      "PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;"
      "PRAGMA application_id=" +
      std::to_string(kSqliteApplicationId) + "; BEGIN";
  if (auto done = file.execute(setup); !done) return tl::unexpected(done.error());
  return file;
}

SqliteFile::~SqliteFile() {
  if (!handle_) return;  // moved or saved
  handle_.reset();
  std::error_code ignored;
  fs::remove(partial_path(path_), ignored);
}

std::string SqliteFile::error() const {
  return path_ + ": " + (handle_ ? sqlite3_errmsg(handle_.get()) : "no memory for SQLite");
}

tl::expected<void, std::string> SqliteFile::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return tl::unexpected(error());
}

tl::expected<void, std::string> SqliteFile::save() {
  if (auto done = execute("COMMIT"); !done) return done;
  handle_.reset();
  const std::string partial = partial_path(path_);
  auto done = synchronise(partial);
  if (done && std::rename(partial.c_str(), behind_links(path_).c_str()) != 0) {
    done = tl::unexpected(system_error(path_));
  }
  std::error_code ignored;
  if (!done) fs::remove(partial, ignored);
  return done;
}

// The header of a SQLite file: 16 bytes of magic, the application id at byte 68, big-endian.
std::optional<std::string> why_not_overwrite(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return std::nullopt;
  if (!fs::is_regular_file(status)) return path + ": is not a file";
  std::array<char, 100> header = {};
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), header.size());
  const bool is_sqlite =
      file.gcount() == 100 && std::memcmp(header.data(), "SQLite format 3", 16) == 0;
  uint32_t id = 0;
  for (size_t i = 68; i < 72; ++i) id = id << 8 | static_cast<unsigned char>(header[i]);
  if (is_sqlite && id == static_cast<uint32_t>(kSqliteApplicationId)) return std::nullopt;
  return path + ": exists and is no export of Redline's: it was left as it is";
}

}  // namespace redline::trace
