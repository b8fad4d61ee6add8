// A SQLite file that is written once, in bulk, and bears its final name only when whole.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace redline::trace {

/// "REDL" in the header of every file that we export (PRAGMA application_id).
constexpr int32_t kSqliteApplicationId = 0x5245444C;

/// A prepared INSERT. Parameters are given in order; row() writes them.
class SqliteInsert {
 public:
  SqliteInsert(sqlite3* database, const std::string& sql);

  SqliteInsert& add(int64_t value);
  SqliteInsert& add(double value);
  SqliteInsert& add(std::string_view text);  ///< must live until row()
  SqliteInsert& null();
  template <typename T>
  SqliteInsert& add(const std::optional<T>& value) {
    return value ? add(*value) : null();
  }
  void row();

  [[nodiscard]] bool ok() const { return status_ == SQLITE_OK; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void note(int status) {
    if (status_ == SQLITE_OK) status_ = status;
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
  int status_ = SQLITE_OK;
};

class SqliteFile {
 public:
  /// Begins partial_path(path), in one transaction and without a journal: it is nothing until
  /// save().
  [[nodiscard]] static tl::expected<SqliteFile, std::string> create(const std::string& path);
  ~SqliteFile();
  SqliteFile(SqliteFile&&) noexcept = default;
  SqliteFile& operator=(SqliteFile&&) = delete;

  [[nodiscard]] tl::expected<void, std::string> execute(const std::string& sql);
  [[nodiscard]] SqliteInsert insert(const std::string& sql) { return {handle_.get(), sql}; }
  [[nodiscard]] std::string error() const;

  /// Commits, synchronises and renames.
  [[nodiscard]] tl::expected<void, std::string> save();

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  SqliteFile(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Says why `path` must not be written to, because something is there that is no export of ours;
/// nullopt if it may.
[[nodiscard]] std::optional<std::string> why_not_overwrite(const std::string& path);

}  // namespace redline::trace
