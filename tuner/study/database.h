// The few functions of SQLite that the study needs, with errors as sentences.
#pragma once

#include <sqlite3.h>

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace redline::tuner {

template <typename T>
using Result = tl::expected<T, std::string>;

/// A prepared statement. Parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql);

  Statement& bind(int index, int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, const std::string& value);
  template <typename T>
  Statement& bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : *this;  // unbound is NULL
  }

  /// Moves to the next row; false at the end. The error is SQLite's text.
  [[nodiscard]] Result<bool> step();
  /// Calls `visit` at each row that is left. If it gives a result, its first error ends that.
  template <typename Visit>
  [[nodiscard]] Result<void> each(Visit visit) {
    for (;;) {
      const Result<bool> row = step();
      if (!row) return tl::unexpected(row.error());
      if (!*row) return {};
      if constexpr (std::is_void_v<decltype(visit())>) {
        visit();
      } else if (Result<void> visited = visit(); !visited) {
        return visited;
      }
    }
  }
  /// For statements that return no rows.
  [[nodiscard]] Result<void> run() {
    return each([] {});
  }

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int status_;
};

/// An open database in WAL mode whose commits are on the disk when they return.
class Database {
 public:
  [[nodiscard]] static Result<Database> open(const std::string& path);
  /// Opens without changing anything; works even in a folder that cannot be written.
  [[nodiscard]] static Result<Database> open_to_read(const std::string& path);
  [[nodiscard]] Statement prepare(const std::string& sql) const {
    return Statement(handle_.get(), sql);
  }
  /// Runs one or more statements without parameters.
  [[nodiscard]] Result<void> execute(const std::string& sql) const;
  [[nodiscard]] int64_t last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  [[nodiscard]] static Result<Database> open_file(const std::string& path, int flags);
  explicit Database(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Holds the database for writing. Everything that was written is undone unless commit() is called.
/// A function whose writes must appear together with others takes one as its argument, and writes
/// through it.
class Transaction {
 public:
  [[nodiscard]] static Result<Transaction> begin(const Database& database) {
    if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) {
      return tl::unexpected(begun.error());
    }
    return Transaction(database);
  }
  Transaction(Transaction&& other) noexcept : open_(std::exchange(other.open_, nullptr)) {}
  ~Transaction() {
    if (open_) (void)open_->execute("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  [[nodiscard]] const Database& database() const {
    assert(open_);
    return *open_;
  }
  [[nodiscard]] Result<void> commit() {
    auto committed = database().execute("COMMIT");
    if (committed) open_ = nullptr;
    return committed;
  }

 private:
  explicit Transaction(const Database& database) : open_(&database) {}
  const Database* open_;  // null after commit() or a move
};

}  // namespace redline::tuner
