#include "tuner/study/database.h"

#include <unistd.h>

namespace redline::tuner {
namespace {

/// A user may be looking at the study with sqlite3 while a trial ends, so writing waits this long.
constexpr int kBusyTimeoutMs = 10'000;

/// Encodes the characters that would end the path of a URI.
std::string percent_encoded(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (c == '%') result += "%25";
    if (c == '?') result += "%3f";
    if (c == '#') result += "%23";
    if (c != '%' && c != '?' && c != '#') result += c;
  }
  return result;
}

}  // namespace

Statement::Statement(sqlite3* database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  status_ =
      sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
}

Statement& Statement::bind(int index, int64_t value) {
  if (status_ == SQLITE_OK) status_ = sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  if (status_ == SQLITE_OK) status_ = sqlite3_bind_double(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, const std::string& value) {
  if (status_ == SQLITE_OK) {
    status_ = sqlite3_bind_text(statement_.get(), index, value.data(),
                                static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
  return *this;
}

Result<bool> Statement::step() {
  if (status_ == SQLITE_OK) status_ = sqlite3_step(statement_.get());
  if (status_ == SQLITE_DONE) return false;
  if (status_ != SQLITE_ROW) return tl::unexpected(std::string(sqlite3_errmsg(database_)));
  status_ = SQLITE_OK;
  return true;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text ? std::string(reinterpret_cast<const char*>(text), size) : std::string();
}

Result<Database> Database::open_file(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (status != SQLITE_OK) return tl::unexpected(std::string(sqlite3_errmsg(handle)));
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Result<Database> Database::open(const std::string& path) {
  auto database = open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database) return database;
  if (auto set = database->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"); !set) {
    return tl::unexpected(set.error());
  }
  return database;
}

Result<Database> Database::open_to_read(const std::string& path) {
  // Readers in WAL mode make files beside the database and leave them there. If there is no such
  // file, nobody has the database open for writing, so it can be read as it is.
  if (access((path + "-wal").c_str(), F_OK) == 0) {
    auto database = open_file(path, SQLITE_OPEN_READONLY);
    if (!database || database->execute("SELECT count(*) FROM sqlite_master")) return database;
    if (sqlite3_errcode(database->handle_.get()) != SQLITE_CANTOPEN) return database;
  }
  return open_file("file:" + percent_encoded(path) + "?immutable=1",
                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

Result<void> Database::execute(const std::string& sql) const {
  char* message = nullptr;
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return {};
  std::string text = message ? message : "unknown error";
  sqlite3_free(message);
  return tl::unexpected(std::move(text));
}

}  // namespace redline::tuner
