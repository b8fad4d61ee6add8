#include "trace/read/row_order.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>

namespace redline::trace {
namespace {

SliceRow row(int64_t begin_ns, int64_t end_ns, uint64_t offset, uint32_t name = 0) {
  SliceRow made;
  made.begin_ns = begin_ns;
  made.end_ns = end_ns;
  made.text_offset = offset & SliceRow::kLargestOffset;
  made.name = StringId{name};
  return made;
}

std::vector<RowRun> runs_of(const SliceRows& rows, uint32_t track) {
  std::vector<RowRun> runs;
  rows.for_each_run([&](uint32_t of, const SliceRows::Run& run) {
    if (of == track) runs.push_back({run.rows(), nullptr, run.block});
  });
  return runs;
}

std::vector<uint64_t> offsets_in_order(const std::vector<RowRun>& runs) {
  std::vector<uint64_t> offsets;
  RowOrder(runs).for_each(
      [&](const SliceRow& row, StringId) { offsets.push_back(row.text_offset); });
  return offsets;
}

// The offsets after sorting all rows.
std::vector<uint64_t> offsets_sorted(std::vector<SliceRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), opens_before);
  std::vector<uint64_t> offsets;
  for (const SliceRow& row : rows) offsets.push_back(row.text_offset);
  return offsets;
}

TEST(SliceRowsTest, ARunEndsWhereTheOrderOrTheChunkDoes) {
  SliceRows rows;
  rows.begin_chunk(3);
  rows.push(1, row(10, 20, 0));
  rows.push(1, row(10, 15, 1));  // a child: in order
  rows.push(0, row(5, 6, 2));
  rows.push(1, row(12, 13, 3));
  rows.push(1, row(11, 12, 4));  // not in order
  rows.begin_chunk(7);
  rows.push(1, row(20, 21, 5));
  std::vector<std::vector<uint64_t>> found;  // track, chunk, offsets
  rows.for_each_run([&](uint32_t track, const SliceRows::Run& run) {
    found.push_back({track, run.chunk});
    for (const SliceRow& each : run.rows()) found.back().push_back(each.text_offset);
  });
  EXPECT_EQ(found,
            (std::vector<std::vector<uint64_t>>{{0, 3, 2}, {1, 3, 0, 1, 3}, {1, 3, 4}, {1, 7, 5}}));
  rows.forget_runs();
  rows.for_each_run([](uint32_t, const SliceRows::Run&) { FAIL(); });
}

// Each track has rows of its own number, which begin at 0, 1, 2, …
void expect_all(const SliceRows& rows, uint32_t tracks, int64_t count) {
  std::vector<int64_t> next(tracks);
  rows.for_each_run([&](uint32_t track, const SliceRows::Run& run) {
    for (const SliceRow& each : run.rows()) {
      ASSERT_EQ(each.begin_ns, next[track]++);
      ASSERT_EQ(each.text_offset, track);
    }
  });
  EXPECT_EQ(next, std::vector(tracks, count));
}

TEST(SliceRowsTest, KeepsManyRowsOfManyTracks) {
  SliceRows rows;
  constexpr uint32_t kTracks = 50, kRows = 20'000;
  for (uint32_t i = 0; i < kRows; ++i) {
    for (uint32_t track = 0; track < kTracks; ++track) rows.push(track, row(i, i, track));
  }
  expect_all(rows, kTracks, kRows);
}

TEST(SliceRowsTest, KeepsTheRowsOfVeryManyTracks) {
  SliceRows rows;
  constexpr uint32_t kTracks = 20'000, kRows = 7;
  for (uint32_t i = 0; i < kRows; ++i) {
    for (uint32_t track = 0; track < kTracks; ++track) rows.push(track, row(i, i, track));
  }
  expect_all(rows, kTracks, kRows);
}

TEST(RowOrderTest, MergesTwoRowsOfEventsThatRepeat) {
  SliceRows rows;
  std::vector<SliceRow> all;
  for (int64_t step = 0; step < 40; ++step) {
    for (int64_t kind = 0; kind < 2; ++kind) {  // operators, then the runtime's calls among them
      for (int64_t i = 0; i < 30; ++i) {
        const int64_t begin = step * 1000 + i * 20 + kind * 7;
        all.push_back(row(begin, begin + 15 - 10 * kind, all.size()));
        rows.push(0, all.back());
      }
    }
  }
  EXPECT_EQ(offsets_in_order(runs_of(rows, 0)), offsets_sorted(all));
}

TEST(RowOrderTest, IsThatOfSortingForAnyRows) {
  std::mt19937 random(7);
  for (const uint64_t disorder : {0UL, 1UL, 5UL, 100UL, 100'000UL}) {
    SliceRows rows;
    std::vector<SliceRow> all;
    for (int64_t i = 0; i < 3000; ++i) {
      const int64_t begin = i * 3 + static_cast<int64_t>(random() % (disorder + 1));
      all.push_back(row(begin, begin + static_cast<int64_t>(random() % 4), all.size()));
      rows.push(0, all.back());
    }
    EXPECT_EQ(offsets_in_order(runs_of(rows, 0)), offsets_sorted(all)) << disorder;
  }
}

// How many bytes of these rows are in memory now.
size_t resident_bytes(const SliceRows& rows, uint32_t track) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::set<uintptr_t> pages;
  for (const RowRun& run : runs_of(rows, track)) {
    for (const SliceRow& each : run.rows) {
      pages.insert(reinterpret_cast<uintptr_t>(&each) / page * page);
    }
  }
  size_t bytes = 0;
  for (const uintptr_t at : pages) {
    unsigned char state = 0;
    mincore(reinterpret_cast<void*>(at), page, &state);  // NOLINT(performance-no-int-to-ptr)
    if ((state & 1) != 0) bytes += page;
  }
  return bytes;
}

TEST(RowOrderTest, RowsThatWereTakenAreNoMemoryAnyMore) {
  for (const int64_t backwards : {1, 7, 100}) {  // one chain, some chains, sorted
    SliceRows rows;
    std::vector<SliceRow> all;
    for (int64_t i = 0; i < 40'000; ++i) {
      const int64_t begin = i / backwards * 1000 + i % backwards * -3;
      all.push_back(row(begin, begin + 1, static_cast<uint64_t>(i)));
      rows.push(0, all.back());
    }
    std::vector<RowRun> runs = runs_of(rows, 0);
    for (const RowRun& run : runs) run.await();
    const size_t before = resident_bytes(rows, 0);
    const RowOrder order(runs);
    std::vector<uint64_t> offsets;
    order.for_each([](const SliceRow&, StringId) {});
    order.take_each([&](const SliceRow& taken, StringId) { offsets.push_back(taken.text_offset); });
    EXPECT_EQ(offsets, offsets_sorted(all)) << backwards;
    EXPECT_GE(before, all.size() * sizeof(SliceRow));
    EXPECT_LT(resident_bytes(rows, 0), before / 20) << backwards;
  }
}

TEST(RowOrderTest, NamesAreThoseOfTheWholeTrace) {
  for (const int64_t runs : {2, 40}) {  // merged, and sorted
    SliceRows rows;
    for (int64_t i = 0; i < runs; ++i) rows.push(0, row(-i, -i, static_cast<uint64_t>(i), 1));
    const std::vector<StringId> names = {StringId{5}, StringId{9}};
    std::vector<RowRun> found = runs_of(rows, 0);
    for (RowRun& run : found) run.names = names.data();
    RowOrder(found).for_each([](const SliceRow&, StringId name) { EXPECT_EQ(name.value, 9U); });
  }
}

}  // namespace
}  // namespace redline::trace
