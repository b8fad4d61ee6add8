#include "trace/model/columns.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redline::trace {
namespace {

// Where each column begins and ends, in bytes from the region's begin, in the order of the file.
std::vector<std::pair<ptrdiff_t, ptrdiff_t>> places(const SliceColumns& columns,
                                                    const std::byte* region) {
  std::vector<std::pair<ptrdiff_t, ptrdiff_t>> found;
  const auto add = [&](const auto& column) {
    const auto bytes = std::as_bytes(column);
    found.emplace_back(bytes.data() - region, bytes.data() + bytes.size() - region);
  };
  add(columns.begin_ns);
  add(columns.end_ns);
  add(columns.text_offset);
  add(columns.name);
  add(columns.lane);
  add(columns.correlation);
  add(columns.category);
  return found;
}

TEST(SliceColumns, EachBeginsAtTheNextCacheLine) {
  for (const size_t count : {1UL, 8UL, 9UL, 64UL, 65UL, 1000UL}) {
    const size_t bytes = SliceColumns::bytes_of(count);
    const auto memory = ColumnMemory::allocate(bytes);
    ptrdiff_t end = 0;
    for (const auto& [from, to] : places(SliceColumns::in(memory->data(), count), memory->data())) {
      EXPECT_EQ(from, (end + 63) / 64 * 64) << count;
      end = to;
    }
    EXPECT_EQ(bytes, static_cast<size_t>((end + 63) / 64 * 64)) << count;
  }
  EXPECT_EQ(SliceColumns::bytes_of(0), 0U);
  EXPECT_EQ(SliceColumns::bytes_of(64), 64U * (3 * 8 + 3 * 4 + 1));
}

TEST(ColumnMemory, OnlyWholePagesAreGivenBack) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto memory = ColumnMemory::allocate(6 * page);
  const std::span<std::byte> all(memory->data(), memory->size());
  const auto left_of = [&](size_t from, size_t to) {
    std::ranges::fill(all, std::byte{1});
    give_back(all.subspan(from, to - from));
    std::string left;
    for (size_t at = 0; at < all.size(); at += page) {
      const auto kept = std::ranges::count(all.subspan(at, page), std::byte{1});
      left += kept == static_cast<ptrdiff_t>(page) ? '1' : kept == 0 ? '0' : '?';
    }
    return left;
  };
  EXPECT_EQ(left_of(page, 3 * page), "100111");
  EXPECT_EQ(left_of(page + 1, 4 * page - 1), "110111");
  EXPECT_EQ(left_of(page - 1, 4 * page + 1), "100011");
  EXPECT_EQ(left_of(page + 1, 2 * page - 1), "111111");
  EXPECT_EQ(left_of(page + 1, 3 * page - 1), "111111");
  EXPECT_EQ(left_of(0, 6 * page), "000000");
}

}  // namespace
}  // namespace redline::trace
