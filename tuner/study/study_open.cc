// Opens a study's file: checks who may open it, whether it is a study, and of which search.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/format.h"
#include "tuner/study/study.h"

namespace redline::tuner {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kApplicationId = 0x52444c4e;  // "RDLN"

constexpr const char* kSchema = R"(
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('started', 'finished', 'interrupted')),
  config TEXT NOT NULL,
  why TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  finish_order INTEGER UNIQUE,
  outcome TEXT,
  samples_per_s REAL,
  samples_per_s_low REAL,
  samples_per_s_high REAL,
  peak_memory_bytes INTEGER,
  wall_ns INTEGER,
  steps INTEGER,
  message TEXT,
  result TEXT
);
)";

/// Whether an autotune has the file open.
bool is_in_use(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<FileDescriptor> Study::lock(const std::string& path, bool resume, bool& alone) {
  FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.get() < 0) {
    return tl::unexpected(fmt::format("{}: {}. Give --study a file in a folder that can be written",
                                      path, std::strerror(errno)));
  }
  alone = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  if (alone || (resume && flock(lock.get(), LOCK_SH) == 0)) return lock;
  return tl::unexpected(
      fmt::format("{}: another autotune is using it. --resume shares its search; --study takes "
                  "another file",
                  path));
}

Result<Study> Study::open(const std::string& path, const StudyIdentity& identity, bool resume) {
  bool alone = false;
  Result<FileDescriptor> file_lock = lock(path, resume, alone);
  if (!file_lock) return tl::unexpected(file_lock.error());
  Result<Database> database = Database::open(path);
  if (!database) {
    return tl::unexpected(fmt::format("{}: {}. Give --study another file", path, database.error()));
  }
  Study study(*std::move(file_lock), *std::move(database), path);
  study.joined_ = !alone;
  auto ready = alone ? study.prepare(identity, resume) : Result<void>();
  if (ready) ready = study.share(identity);
  if (!ready) return tl::unexpected(fmt::format("{}: {}", path, ready.error()));
  return study;
}

/// Changes the exclusive lock into a shared one. In between somebody else may have had the file
/// alone for a moment, so the identity is checked again.
Result<void> Study::share(const StudyIdentity& identity) {
  if (flock(lock_.get(), LOCK_SH) != 0) return tl::unexpected(std::string(std::strerror(errno)));
  bool empty = false;
  if (auto known = check_version(empty); !known) return known;
  return check_identity(identity);
}

Result<Study> Study::open_to_read(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return tl::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return tl::unexpected(path + ": a folder, not a study");
  }
  Result<Database> database = Database::open_to_read(path);
  if (!database) return tl::unexpected(fmt::format("{}: {}", path, database.error()));
  Study study(FileDescriptor(-1), *std::move(database), path);
  bool empty = false;
  if (auto known = study.check_version(empty); !known) {
    if (known.error() == sqlite3_errstr(SQLITE_NOTADB)) {
      return tl::unexpected(path + ": not a study. autotune writes one: autotune.study.db");
    }
    return tl::unexpected(fmt::format("{}: {}", path, known.error()));
  }
  if (empty) return tl::unexpected(path + ": it is empty, not a study");
  return study;
}

std::string Study::own_path(const std::string& path, const StudyIdentity& identity, bool anew) {
  const std::filesystem::path first(path);
  for (int number = 1;; ++number) {
    std::filesystem::path file = first;
    if (number > 1) {
      file.replace_filename(
          fmt::format("{}-{}{}", first.stem().string(), number, first.extension().string()));
    }
    const Result<Study> study = open_to_read(file.string());
    if (!study) return file.string();
    const Result<int64_t> successes = study->count("outcome='ok'");
    if (!successes) return file.string();
    const bool is_ours = study->check_identity(identity).has_value();
    if (*successes == 0 ? is_ours || !is_in_use(file) : is_ours && !anew) return file.string();
  }
}

Result<StudyIdentity> Study::identity() const {
  std::map<std::string, std::string> values;
  Statement row = database_.prepare("SELECT key, value FROM study");
  const auto keep = [&] { values[row.text(0)] = row.text(1); };
  return row.each(keep).and_then([&] { return identity_from(values); });
}

Result<void> Study::check_version(bool& empty) const {
  Statement version = database_.prepare(
      "SELECT user_version, application_id, "
      "(SELECT count(*) FROM sqlite_master) "
      "FROM pragma_user_version, pragma_application_id");
  if (const auto row = version.step(); !row) return tl::unexpected(row.error());
  empty = version.integer(2) == 0;
  if (!empty && version.integer(1) != kApplicationId) {
    return tl::unexpected(std::string("a database, but not a study"));
  }
  if (!empty && version.integer(0) != kVersion) {
    return tl::unexpected(fmt::format("a study of version {}, this program reads version {}",
                                      version.integer(0), kVersion));
  }
  // A file that was cut off still opens and lacks its last trials, so it is checked.
  Statement check = database_.prepare("PRAGMA quick_check(1)");
  if (const auto row = check.step(); !row) return tl::unexpected(row.error());
  if (check.text(0) != "ok") return tl::unexpected("the file is damaged: " + check.text(0));
  return {};
}

Result<void> Study::prepare(const StudyIdentity& identity, bool resume) {
  bool empty = false;
  if (auto known = check_version(empty); !known) {
    return tl::unexpected(known.error() + ". Give --study another file");
  }
  if (empty) {
    // All in one transaction, so that the file is empty again if autotune is killed in the middle.
    std::string sql = "BEGIN IMMEDIATE;";
    sql += kSchema;
    sql += fmt::format("PRAGMA user_version={}; PRAGMA application_id={}; COMMIT", kVersion,
                       kApplicationId);
    if (auto made = database_.execute(sql); !made) return made;
  }
  if (auto made = database_.execute(kClaimsSchema); !made) return made;
  if (auto freed = database_.execute("DELETE FROM claims"); !freed) return freed;

  const Result<bool> has_begun = goes_on(identity, resume);
  if (!has_begun) return tl::unexpected(has_begun.error());
  if (*has_begun) {
    return database_.execute("UPDATE trials SET state='interrupted' WHERE state='started'");
  }
  const Result<int64_t> failures = count("1");
  if (!failures) return tl::unexpected(failures.error());
  dropped_failures_ = *failures;
  if (auto dropped = database_.execute("DELETE FROM trials"); !dropped) return dropped;
  return write_identity(identity);
}

Result<bool> Study::goes_on(const StudyIdentity& identity, bool resume) const {
  const Result<int64_t> known = count(resume ? "1" : "outcome='ok'");
  if (!known || *known == 0) return known.map([](int64_t) { return false; });
  if (resume) return check_identity(identity).map([] { return true; });
  return count("state='finished'").and_then([](int64_t finished) -> Result<bool> {
    return tl::unexpected(
        fmt::format("has {} already. --resume goes on with them; "
                    "--study takes another file",
                    format_plural(finished, "trial")));
  });
}

Result<void> Study::write_identity(const StudyIdentity& identity) {
  for (const IdentityPart& part : parts_of(identity)) {
    auto written = database_.prepare("INSERT OR REPLACE INTO study VALUES (?, ?)")
                       .bind(1, std::string(part.key))
                       .bind(2, part.value)
                       .run();
    if (!written) return written;
  }
  return {};
}

Result<void> Study::check_identity(const StudyIdentity& identity) const {
  for (const IdentityPart& part : parts_of(identity)) {
    Statement stored = database_.prepare("SELECT value FROM study WHERE key=?");
    const Result<bool> row = stored.bind(1, std::string(part.key)).step();
    if (!row) return tl::unexpected(row.error());
    std::string problem = conflict(part, *row ? std::optional(stored.text(0)) : std::nullopt);
    if (!problem.empty()) return tl::unexpected(std::move(problem));
  }
  return {};
}

}  // namespace redline::tuner
