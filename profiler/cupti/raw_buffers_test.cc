// Decodes CUPTI buffers that were saved as they are (scripts/gpu-check, part raw) on a machine
// without a GPU: those of real GPUs in tests/fixtures/cupti, and some of our own.
#include "scripts/gpu_check/programs/raw_buffers.h"

#include <algorithm>
#include <set>

#include "profiler/cupti/decoder.h"
#include "profiler/cupti/testing_window.h"
#include "tests/paths.h"

extern "C" int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, uint8_t** record);

namespace redline::cupti {
namespace {

using gpu_check::RawBuffers;
namespace fs = std::filesystem;

struct Names {
  const RawBuffers& raw;
  uint64_t kernels = 0;
  uint64_t named = 0;

  void on(const KernelRecord& kernel) {
    ++kernels;
    named += raw.names.contains(reinterpret_cast<uint64_t>(kernel.name)) ? 1 : 0;
  }
  template <typename Other>
  void on(const Other&) {}
};

/// Counts the kernels. Expects that the file has all their names, and that no record is cut off or
/// unknown.
uint64_t kernels_of(RawBuffers raw) {
  stub::set_cupti_version(raw.version);
  Names names{raw};
  for (auto& buffer : raw.buffers) {
    const DecodeCounts counts =
        decode_buffer(buffer.data(), buffer.size(), raw.version, cuptiActivityGetNextRecord, names);
    EXPECT_EQ(counts.truncated, 0u);
    EXPECT_EQ(counts.unknown, 0u);
  }
  EXPECT_EQ(names.named, names.kernels);
  return names.kernels;
}

RawBuffers two_kernels() {
  static const char* const name = "_Z3addPf";
  RawBuffers raw;
  raw.version = 130001;
  raw.names[reinterpret_cast<uint64_t>(name)] = name;
  for (uint32_t i = 1; i <= 2; ++i) {
    auto& buffer = raw.buffers.emplace_back(216);
    const KernelRecord record = kernel(i, i * 1000, name);
    std::memcpy(buffer.data(), &record, buffer.size());
  }
  return raw;
}

class SavedBuffers : public GpuWindow {
 protected:
  const std::string path_ = folder_ / "raw.cupti";
};

TEST_F(SavedBuffers, ComeBackAsTheyWere) {
  const RawBuffers saved = two_kernels();
  ASSERT_TRUE(saved.save(path_));
  const auto loaded = RawBuffers::load(path_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->version, saved.version);
  EXPECT_EQ(loaded->buffers, saved.buffers);
  EXPECT_EQ(loaded->names, saved.names);
  EXPECT_EQ(kernels_of(*loaded), 2u);
}

TEST_F(SavedBuffers, OfAFileThatIsCutAreNone) {
  ASSERT_TRUE(two_kernels().save(path_));
  for (auto size = fs::file_size(path_); size-- > 0;) {
    fs::resize_file(path_, size);
    EXPECT_FALSE(RawBuffers::load(path_)) << size;
  }
}

TEST_F(SavedBuffers, AreDecodedWhereverTheyComeFrom) {
  const fs::path real = redline::testing::source_dir() + "/tests/fixtures/cupti";
  ASSERT_TRUE(two_kernels().save(path_));
  std::vector<fs::path> files = {path_};
  if (fs::exists(real)) {
    for (const auto& file : fs::directory_iterator(real)) files.push_back(file.path());
  }
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    const auto raw = RawBuffers::load(file);
    ASSERT_TRUE(raw);
    EXPECT_GT(kernels_of(*raw), 0u);
  }
}

struct Kinds {
  std::map<Kind, int> counts;
  std::set<uint64_t> operators;
  uint64_t copied = 0;
  uint64_t shortest = UINT64_MAX, longest = 0;
  std::map<uint64_t, int> kernels_of_graphs;

  void on(const KernelRecord& kernel) {
    ++counts[kernel.kind];
    shortest = std::min(shortest, kernel.end - kernel.start);
    longest = std::max(longest, kernel.end - kernel.start);
    if (kernel.graph_node != 0) ++kernels_of_graphs[kernel.graph];
  }
  void on(const MemcpyRecord& copy) {
    ++counts[copy.kind];
    copied += copy.bytes;
  }
  void on(const ExternalCorrelationRecord& record) {
    ++counts[record.kind];
    operators.insert(record.external);
  }
  template <typename Other>
  void on(const Other& record) {
    ++counts[record.kind];
  }
};

TEST_F(SavedBuffers, OfAnH100HaveWhatTheProgramDid) {
  auto raw = RawBuffers::load(redline::testing::source_dir() +
                              "/tests/fixtures/cupti/h100_cuda13.0.cupti");
  ASSERT_TRUE(raw);
  stub::set_cupti_version(raw->version);
  Kinds found;
  for (auto& buffer : raw->buffers) {
    static_cast<void>(decode_buffer(buffer.data(), buffer.size(), raw->version,
                                    cuptiActivityGetNextRecord, found));
  }
  // The work of save_raw_buffers.cc, by kind. The graph has 4 of the kernels.
  const std::map<Kind, int> expected = {{Kind::kConcurrentKernel, 404},
                                        {Kind::kMemcpy, 2},
                                        {Kind::kMemset, 1},
                                        {Kind::kExternalCorrelation, 400},
                                        {Kind::kSynchronization, 3},
                                        {Kind::kCudaEvent, 1},
                                        {Kind::kMemory, 3},
                                        {Kind::kMemoryPool, 2}};
  for (const auto& [kind, count] : expected) {
    EXPECT_EQ(found.counts[kind], count) << "kind " << static_cast<uint32_t>(kind);
  }
  EXPECT_EQ(found.operators.size(), 200u);
  EXPECT_EQ(found.copied, 2u * 16384);
  ASSERT_EQ(found.kernels_of_graphs.size(), 1u);
  EXPECT_EQ(found.kernels_of_graphs.begin()->second, 4);
  // One block that adds 1 to a number.
  EXPECT_GT(found.shortest, 500u);
  EXPECT_LT(found.longest, 5000u);
}

}  // namespace
}  // namespace redline::cupti
