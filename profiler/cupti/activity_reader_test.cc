#include "profiler/cupti/activity_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "profiler/cupti/record_spool.h"
#include "profiler/cupti/testing_buffer.h"
#include "profiler/cupti/testing_window.h"
#include "tests/temporary_folder.h"

extern "C" int cuptiGetTimestamp(uint64_t* time);

namespace redline::cupti {
namespace {

struct Correlations {
  std::vector<uint32_t> seen;
  void on(const KernelRecord& kernel) { seen.push_back(kernel.correlation); }
  void on(const ApiRecord& call) { seen.push_back(call.correlation); }
  template <typename Other>
  void on(const Other&) {}
};

TEST(CompactRecords, AreWhatTheyWereWithoutWhatCannotBeRead) {
  stub::reset_cupti();
  FilledBytes buffer;
  buffer.add(kernel(1, 1000));
  buffer.add(Kind{12});  // a kind that we have not enabled
  buffer.add(launch_call(2, 2000));
  buffer.add_part(kernel(3, 3000), 100);
  std::vector<uint8_t> compacted;
  const DecodeCounts counts =
      compact(buffer.data(), buffer.size(), kVersion12_9, cuptiActivityGetNextRecord, compacted);
  EXPECT_EQ(counts.records, 2u);
  EXPECT_EQ(counts.unknown, 1u);
  EXPECT_EQ(counts.truncated, 1u);
  Correlations again;
  const DecodeCounts read =
      decode_buffer(compacted.data(), compacted.size(), kVersion12_9, next_compact, again);
  EXPECT_EQ(read.records, 2u);
  EXPECT_EQ(read.truncated, 0u);
  EXPECT_EQ(again.seen, (std::vector<uint32_t>{1, 2}));
}

/// Fills many small buffers before the reader's thread begins.
class LateReader : public GpuWindow {
 protected:
  static constexpr uint32_t kLaunches = 10'000;
  static constexpr size_t kMostInBuffer = 32 << 10;

  LateReader() {
    library_.version = 130001;
    library_.get_next_record = cuptiActivityGetNextRecord;
    library_.get_timestamp = cuptiGetTimestamp;
    library_.get_callback_name = [](int, uint32_t, const char** name) {
      *name = "cudaLaunchKernel_v7000";
      return kSuccess;
    };
  }

  template <typename Record>
  void fill(const Record& record) {
    if (buffer_ == nullptr || bytes_.size() + bytes_of(record) > kMostInBuffer) {
      hand_over();
      buffer_ = pool_.take(true);
    }
    if (buffer_ != nullptr) bytes_.add(record);
  }
  void hand_over() {
    if (buffer_ == nullptr) return;
    std::ranges::copy(bytes_, buffer_);
    pool_.complete(std::exchange(buffer_, nullptr), bytes_.size());
    bytes_.clear();
    reader_->add_filled(true);
  }
  void make_reader(const std::string& spool_folder) {
    reader_ = std::make_unique<ActivityReader>(
        library_, pool_, Activities(library_, devices_, names_, collectives_), spool_folder);
  }
  /// Takes buffers, as CUPTI would, until only so many are left.
  void leave_room(size_t left) {
    while (pool_.room() > left) ASSERT_NE(pool_.take(true), nullptr);
  }
  /// Records a window with launches, each followed by its kernel, and counts kernels in its trace.
  size_t recorded(const std::string& spool_folder) {
    begin(false);
    make_reader(spool_folder);
    const uint64_t begun = now();
    for (uint32_t i = 1; i <= kLaunches; ++i) {
      fill(launch_call(i, begun + i));
      fill(kernel(i, begun + i));
    }
    hand_over();
    EXPECT_TRUE(reader_->start());
    reader_->finish();
    return events(end(), "kernel").size();
  }

  Library library_;
  BufferPool pool_;
  DeviceTable devices_;
  AnnotationNames names_;
  CollectiveNotes collectives_;
  std::unique_ptr<ActivityReader> reader_;
  uint8_t* buffer_ = nullptr;
  FilledBytes bytes_;  ///< to be put into buffer_
};

/// The numbers of this process's open files in that folder.
std::vector<std::string> open_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const std::string path = fs::read_symlink(file, closed);
    if (path.starts_with(folder)) found.push_back(file.path());
  }
  return found;
}

/// The size on disk of the files in that folder that this process has open.
uintmax_t bytes_on_disk(const std::string& folder) {
  uintmax_t bytes = 0;
  for (const auto& file : open_files(folder)) bytes += std::filesystem::file_size(file);
  return bytes;
}

TEST_F(LateReader, TakesRoomOnDiskNoLongerThanNeeded) {
  const testing::TemporaryFolder place;
  const auto folder = std::filesystem::canonical(place.path());
  EXPECT_EQ(recorded(folder), kLaunches);
  EXPECT_GT(bytes_on_disk(folder), 0u);
  reader_->add_filled(true);
  EXPECT_EQ(bytes_on_disk(folder), 0u);
}

TEST_F(LateReader, LosesNothingOfMoreThanAllBuffersHold) {
  EXPECT_EQ(recorded(::testing::TempDir()), kLaunches);
  EXPECT_EQ(pool_.refused(), 0u);
  EXPECT_GT(reader_->spooled_bytes(), 0u);
  EXPECT_EQ(reader_->activities().counts().without_call, 0u);
  EXPECT_EQ(reader_->activities().counts().decoded.records, 2 * kLaunches);
  EXPECT_EQ(pool_.room(), BufferPool::kMostBuffers);
}

TEST_F(LateReader, EndsItsThreadWhereTheWindowCouldNotBegin) {
  make_reader(::testing::TempDir());
  EXPECT_TRUE(reader_->start());
  reader_.reset();
}

TEST_F(LateReader, PutsRecordsOnDiskWhereLessThanHalfOfTheBuffersAreLeft) {
  constexpr size_t kHalf = BufferPool::kMostBuffers / 2;
  begin(false);
  make_reader(::testing::TempDir());
  leave_room(kHalf + 1);
  fill(kernel(1, now()));
  EXPECT_EQ(pool_.room(), kHalf);
  hand_over();
  EXPECT_EQ(reader_->spooled_bytes(), 0u);
  fill(kernel(2, now()));
  fill(Kind{12});
  EXPECT_EQ(pool_.room(), kHalf - 1);
  hand_over();
  constexpr size_t kLength = 4;  // of a record, before it
  EXPECT_EQ(reader_->spooled_bytes(), kLength + bytes_read(Kind::kConcurrentKernel, 130001));
  EXPECT_TRUE(reader_->start());
  reader_->finish();
  EXPECT_EQ(events(end(), "kernel").size(), 2u);
  EXPECT_EQ(reader_->activities().counts().decoded.records, 2u);
  EXPECT_EQ(reader_->activities().counts().decoded.unknown, 1u) << "it stood on disk";
}

TEST_F(LateReader, CountsWhatTheDiskDoesNotGiveBack) {
  const testing::TemporaryFolder place;
  const auto folder = std::filesystem::canonical(place.path());
  begin(false);
  make_reader(folder);
  leave_room(1);
  for (uint32_t i = 1; i <= 3; ++i) fill(kernel(i, now()));
  hand_over();
  EXPECT_GT(reader_->spooled_bytes(), 0u);
  for (const std::string& file : open_files(folder)) EXPECT_EQ(truncate(file.c_str(), 10), 0);
  EXPECT_TRUE(reader_->start());
  reader_->finish();
  EXPECT_TRUE(events(end(), "kernel").empty());
  EXPECT_EQ(reader_->activities().counts().decoded.records, 0u);
  EXPECT_EQ(reader_->activities().counts().decoded.truncated, 3u);
}

TEST_F(LateReader, LeavesAFullDiskAloneUntilAllIsRead) {
  const testing::TemporaryFolder place;
  const std::string folder = place / "later";
  begin(false);
  make_reader(folder);
  leave_room(8);
  fill(kernel(1, now()));
  hand_over();  // finds no folder
  std::filesystem::create_directory(folder);
  fill(kernel(2, now()));
  hand_over();
  EXPECT_EQ(reader_->spooled_bytes(), 0u);
  EXPECT_TRUE(reader_->start());
  for (int i = 0; i < 100'000 && reader_->spooled_bytes() == 0; ++i) {
    fill(kernel(3, now()));
    hand_over();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the reader may get no core
  }
  EXPECT_GT(reader_->spooled_bytes(), 0u);
  reader_->finish();
  static_cast<void>(end());
}

TEST_F(LateReader, WorkWaitsForFlushesAndForNothingElse) {
  for (const bool is_flushed : {false, true}) {
    begin(false);
    make_reader(::testing::TempDir());
    const uint64_t begun = now();
    fill(kernel(1, begun + 500));
    hand_over();
    for (int i = 0; i < 50; ++i) reader_->add_filled(is_flushed);
    fill(launch_call(1, begun));
    hand_over();
    EXPECT_TRUE(reader_->start());
    reader_->finish();
    EXPECT_EQ(events(end(), "kernel").size(), 1u);
    EXPECT_EQ(reader_->activities().counts().without_call, is_flushed ? 1u : 0u);
  }
}

TEST_F(LateReader, RefusesAndCountsWhereTheDiskTakesNothing) {
  const size_t kernels = recorded("/nowhere");
  EXPECT_EQ(reader_->spooled_bytes(), 0u);
  const uint64_t lost = 2 * kLaunches - reader_->activities().counts().decoded.records;
  EXPECT_GT(kernels, 0u);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(pool_.refused(), lost);
}

}  // namespace
}  // namespace redline::cupti
