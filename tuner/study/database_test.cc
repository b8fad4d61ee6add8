#include "tuner/study/database.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace redline::tuner {
namespace {

TEST(StudyDatabase, IsReadAsItIsWhereTheIndexOfItsLogCannotBeMade) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "a.db";
  ASSERT_TRUE(Database::open(path)->execute("CREATE TABLE t (x); INSERT INTO t VALUES (7)"));
  // A folder that cannot be written does the same, but not to root.
  std::ofstream(path + "-wal").flush();
  std::filesystem::create_symlink("a.db-shm", path + "-shm");
  const Result<Database> database = Database::open_to_read(path);
  ASSERT_TRUE(database) << database.error();
  Statement row = database->prepare("SELECT x FROM t");
  const Result<bool> found = row.step();
  ASSERT_TRUE(found) << found.error();
  ASSERT_TRUE(*found);
  EXPECT_EQ(row.integer(0), 7);
}

TEST(StudyDatabase, EachRowIsVisitedUntilAVisitFails) {
  const testing::TemporaryFolder folder;
  const Result<Database> database = Database::open(folder / "a.db");
  ASSERT_TRUE(database->execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)"));
  Statement row = database->prepare("SELECT x FROM t ORDER BY x");
  std::vector<int64_t> seen;
  EXPECT_TRUE(row.each([&] { seen.push_back(row.integer(0)); }));
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3}));
  seen.clear();
  Statement again = database->prepare("SELECT x FROM t ORDER BY x");
  const auto visited = again.each([&]() -> Result<void> {
    seen.push_back(again.integer(0));
    if (seen.back() == 2) return tl::unexpected(std::string("no two"));
    return {};
  });
  ASSERT_FALSE(visited);
  EXPECT_EQ(visited.error(), "no two");
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(database->prepare("SELECT nothing FROM t").each([] {}));
}

TEST(StudyDatabase, AWriterWaitsUntilAnotherHasWritten) {
  const testing::TemporaryFolder folder;
  const Result<Database> one = Database::open(folder / "a.db");
  const Result<Database> other = Database::open(folder / "a.db");
  ASSERT_TRUE(one && other);
  auto first = Transaction::begin(*one);
  ASSERT_TRUE(first) << first.error();
  const std::jthread holder([&first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // nobody can see that we wait
    EXPECT_TRUE(first->commit());
  });
  const auto second = Transaction::begin(*other);
  EXPECT_TRUE(second) << second.error();
}

}  // namespace
}  // namespace redline::tuner
