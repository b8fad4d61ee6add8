#include "profiler/cupti/activity_reader.h"

#include <gtest/gtest.h>

#include "profiler/cupti/record_spool.h"
#include "profiler/cupti/testing_window.h"

extern "C" int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, uint8_t** record);
extern "C" int cuptiGetTimestamp(uint64_t* time);

namespace redline::cupti {
namespace {

constexpr size_t kKernelBytes = 216;  // in CUDA 13.0, as all sizes here
constexpr size_t kCallBytes = 40;

struct Correlations {
  std::vector<uint32_t> seen;
  void on(const KernelRecord& kernel) { seen.push_back(kernel.correlation); }
  void on(const ApiRecord& call) { seen.push_back(call.correlation); }
  template <typename Other>
  void on(const Other&) {}
};

TEST(CompactRecords, AreWhatTheyWereWithoutWhatCannotBeRead) {
  stub::reset_cupti();
  std::vector<uint8_t> buffer;
  const auto append = [&](const auto& record, size_t size) {
    const size_t begin = buffer.size();
    buffer.resize(begin + size);
    std::memcpy(buffer.data() + begin, &record, std::min(size, sizeof(record)));
  };
  append(kernel(1, 1000), kKernelBytes);
  append(Kind{12}, 56);  // a kind that we have not enabled
  append(launch_call(2, 2000), kCallBytes);
  append(kernel(3, 3000), 100);  // cut off
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
  void fill(const Record& record, size_t size) {
    if (buffer_ == nullptr || used_ + size > kMostInBuffer) {
      hand_over();
      buffer_ = pool_.take(true);
    }
    if (buffer_ == nullptr) return;
    std::memcpy(buffer_ + used_, &record, std::min(size, sizeof(record)));
    used_ += size;
  }
  void hand_over() {
    if (buffer_ == nullptr) return;
    pool_.complete(std::exchange(buffer_, nullptr), std::exchange(used_, 0));
    reader_->add_filled(true);
  }
  /// Records a window with launches, each followed by its kernel, and counts kernels in its trace.
  size_t recorded(const std::string& spool_folder) {
    begin(false);
    reader_ = std::make_unique<ActivityReader>(
        library_, pool_, Activities(library_, devices_, names_, collectives_), spool_folder);
    const uint64_t begun = now();
    for (uint32_t i = 1; i <= kLaunches; ++i) {
      fill(launch_call(i, begun + i), kCallBytes);
      fill(kernel(i, begun + i), kKernelBytes);
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
  size_t used_ = 0;
};

/// The size on disk of the files in that folder that this process has open.
uintmax_t bytes_on_disk(const std::string& folder) {
  namespace fs = std::filesystem;
  uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const std::string path = fs::read_symlink(file, closed);
    if (path.starts_with(folder)) bytes += fs::file_size(file, closed);
  }
  return bytes;
}

TEST_F(LateReader, TakesRoomOnDiskNoLongerThanNeeded) {
  const auto folder = std::filesystem::canonical(::testing::TempDir()) / "record_spool";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(recorded(folder), kLaunches);
  EXPECT_GT(bytes_on_disk(folder), 0u);
  reader_->add_filled(true);
  EXPECT_EQ(bytes_on_disk(folder), 0u);
  std::filesystem::remove(folder);
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
  reader_ = std::make_unique<ActivityReader>(
      library_, pool_, Activities(library_, devices_, names_, collectives_), ::testing::TempDir());
  EXPECT_TRUE(reader_->start());
  reader_.reset();
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
