#include "viewer/models/table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace redline::viewer {
namespace {

Table sample() {
  return {"Kernels",
          {{"Name", Unit::kText},
           {"Calls", Unit::kCount},
           {"Total", Unit::kDuration},
           {"Share", Unit::kShare},
           {"Bus bandwidth", Unit::kBytesPerSecond}},
          {{{std::string("a, \"b\""), int64_t{3}, int64_t{1500}, 0.5, TableValue()}, {}, "a"}}};
}

TEST(TableText, HasUnits) {
  EXPECT_EQ(value_text(int64_t{1'500}, Unit::kDuration), "1.50 µs");
  EXPECT_EQ(value_text(int64_t{12'345}, Unit::kCount), "12,345");
  EXPECT_EQ(value_text(int64_t{-3}, Unit::kCount), "-3");
  EXPECT_EQ(value_text(0.4, Unit::kCount), "0.4");
  EXPECT_EQ(value_text(0.125, Unit::kShare), "12.5 %");
  EXPECT_EQ(value_text(2.5e9, Unit::kBytesPerSecond), "2.5 GB/s");
  EXPECT_EQ(value_text(3.4e6, Unit::kBytesPerSecond), "3.4 MB/s") << "Gloo's";
  EXPECT_EQ(value_text(int64_t{2048}, Unit::kBytes), "2.0 KiB");
  EXPECT_EQ(value_text(int64_t{5}, Unit::kTime), "+5 ns");
  EXPECT_EQ(value_text(TableValue(), Unit::kCount), "-");
}

TEST(TableOrder, NotApplicableIsLeastAndNumbersMix) {
  EXPECT_TRUE(value_less(TableValue(), int64_t{-5}));
  EXPECT_TRUE(value_less(int64_t{1}, 1.5));
  EXPECT_TRUE(value_less(std::string("a"), std::string("b")));
  EXPECT_FALSE(value_less(TableValue(), TableValue()));
}

TEST(TableExport, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(table_csv(sample()),
            "name,calls,total_ns,share,bus_bandwidth_bytes_per_s\r\n"
            "\"a, \"\"b\"\"\",3,1500,0.5,\r\n");
}

TEST(TableExport, ForTheClipboardACellIsBetweenTabs) {
  Table table = sample();
  table.rows[0].values[0] = std::string("a\tb\nc");
  EXPECT_EQ(table_tsv(table),
            "name\tcalls\ttotal_ns\tshare\tbus_bandwidth_bytes_per_s\n"
            "a b c\t3\t1500\t0.5\t\n");
}

TEST(TableText, AKernelsNameIsShortAndStaysWhole) {
  const std::string name = "void at::native::copy_kernel<float, 4>(float*, int)";
  const Table table{"Kernels", {{"Name", Unit::kKernel}}, {{{name}, {}, name}}};
  EXPECT_EQ(value_text(table.rows[0].values[0], Unit::kKernel), "copy_kernel<float,4>");
  EXPECT_EQ(rows_with(table, "at::native").rows.size(), 1U) << "the whole name is searched";
  EXPECT_NE(table_csv(table).find(name), std::string::npos);
}

TEST(TableExport, JsonHasPlainNumbers) {
  const auto json = nlohmann::json::parse(table_json(sample()));
  EXPECT_EQ(json.at("schema"), "redline.table/1");
  const auto& row = json.at("rows").at(0);
  EXPECT_EQ(row.at("name"), "a, \"b\"");
  EXPECT_EQ(row.at("total_ns"), 1500);
  EXPECT_TRUE(row.at("bus_bandwidth_bytes_per_s").is_null());
}

TEST(Table, ChangesHaveASign) {
  EXPECT_EQ(value_text(int64_t{2'000}, Unit::kChange), "+2.00 µs");
  EXPECT_EQ(value_text(int64_t{-2'000}, Unit::kChange), "-2.00 µs");
  EXPECT_EQ(value_text(int64_t{0}, Unit::kChange), "0 ns");
  EXPECT_EQ(value_text(0.25, Unit::kChangeShare), "+25.0 %");
}

TEST(Table, KnowsColumnsThatSayNothing) {
  const Table table{"", {{"a"}, {"b"}, {"c"}}, {{{std::string(), int64_t{0}, {}}, {}, {}}}};
  EXPECT_FALSE(has_values(table, 0));
  EXPECT_TRUE(has_values(table, 1)) << "nought is a value";
  EXPECT_FALSE(has_values(table, 2));
}

}  // namespace
}  // namespace redline::viewer
