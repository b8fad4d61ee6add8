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
  EXPECT_EQ(value_text(int64_t{0}, Unit::kTime), "+0 ns");
  EXPECT_EQ(value_text(int64_t{-5}, Unit::kTime), "-5 ns");
  EXPECT_EQ(value_text(1234.6, Unit::kRate), "1,235");
  EXPECT_EQ(value_text(0.0, Unit::kChangeShare), "0.0 %");
  EXPECT_EQ(value_text(TableValue(), Unit::kCount), "-");
}

TEST(TableOrder, NotApplicableIsLeastAndNumbersMix) {
  EXPECT_TRUE(value_less(TableValue(), int64_t{-5}));
  EXPECT_TRUE(value_less(int64_t{1}, 1.5));
  EXPECT_TRUE(value_less(std::string("a"), std::string("b")));
  EXPECT_FALSE(value_less(TableValue(), TableValue()));
}

TEST(TableOrder, NumbersInTextGoBySize) {
  const std::string in_order[] = {"",       "a",      "a9b",     "a09b",     "a10", "a10b",
                                  "rank 2", "rank 9", "rank 10", "rank 10a", "é"};
  for (const std::string& left : in_order) {
    for (const std::string& right : in_order) {
      if (left == "a9b" && right == "a09b") continue;  // any order, but always the same one
      if (left == "a09b" && right == "a9b") continue;
      EXPECT_EQ(value_less(left, right), &left < &right) << left << ", " << right;
    }
  }
  EXPECT_NE(value_less(std::string("a9b"), std::string("a09b")),
            value_less(std::string("a09b"), std::string("a9b")));
}

TEST(TableOrder, TextThatIsANumberIsOne) {
  const TableValue in_order[] = {TableValue(),        std::string("-3"),   std::string("0.05"),
                                 std::string("0.1"),  std::string("0.25"), std::string("0.5"),
                                 int64_t{1},          std::string("1"),    std::string("1.0"),
                                 std::string("1e2"),  int64_t{1'000},      std::string("0.5x"),
                                 std::string("auto"), std::string("inf")};
  for (const TableValue& left : in_order) {
    for (const TableValue& right : in_order) {
      EXPECT_EQ(value_less(left, right), &left < &right)
          << whole_text(left, Unit::kText) << ", " << whole_text(right, Unit::kText);
    }
  }
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
  const Table table{"Kernels", {{"Name", Unit::kName}}, {{{TableValue::kernel(name)}, {}, name}}};
  EXPECT_EQ(value_text(table.rows[0].values[0], Unit::kName), "copy_kernel<float,4>");
  EXPECT_EQ(rows_with(table, "at::native").rows.size(), 1U) << "the whole name is searched";
  EXPECT_NE(table_csv(table).find(name), std::string::npos);
}

TEST(TableText, AKernelsNameHasAtMostSixtyColumns) {
  for (const size_t length : {59U, 60U, 61U, 80U}) {
    const std::string name(length, 'k');
    for (const TableValue& value : {TableValue::kernel(name), TableValue(name)}) {
      const std::string text = value_text(value, Unit::kName);
      size_t columns = 0;
      for (const char c : text) columns += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
      EXPECT_EQ(columns, std::min<size_t>(length, 60)) << text;
    }
  }
}

TEST(TableText, OnlyKernelsAreCutAsFunctionsOfCxx) {
  for (const std::string name : {"FSDP::pre_forward (layers.0)", "validation::load (eval)",
                                 "epoch (3) train", "step<1> of a::b"}) {
    EXPECT_EQ(value_text(name, Unit::kName), name);
    EXPECT_NE(value_text(TableValue::kernel(name), Unit::kName), name);
  }
  const std::string loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next";
  EXPECT_EQ(value_text(loader + "__", Unit::kName), loader + "…") << "as in reports";
}

TEST(TableText, ASliceWithoutANameSaysSo) {
  for (const TableValue& value : {TableValue::kernel(""), TableValue(std::string())}) {
    Table table{"Kernels", {{"Name", Unit::kName}}, {{{value}, {}, {}}}};
    EXPECT_EQ(value_text(value, Unit::kName), "(no name)");
    EXPECT_EQ(value_text(value, Unit::kText), "");
    EXPECT_EQ(rows_with(table, "no name").rows.size(), 1U);
    EXPECT_EQ(table_csv(table), "name\r\n\r\n") << "of which the export has none";
    tell_kernels_apart(table);
    EXPECT_EQ(value_text(table.rows[0].values[0], Unit::kName), "(no name)");
  }
}

TEST(TableText, KernelsThatLookTheSameShowWhereTheyDiffer) {
  const auto tile = [](const char* size) {
    return std::string(40, 'x') + "_MT16x16x" + size + "_" + std::string(40, 'y');
  };
  const auto row = [](TableValue name) { return TableRow{{int64_t{1}, std::move(name)}, {}, {}}; };
  Table table{
      "Kernels",
      {{"Calls", Unit::kCount}, {"Name", Unit::kName}},
      {row(TableValue::kernel(tile("256"))), row(TableValue::kernel("void a::gemm<8>(int)")),
       row(tile("128")), row(TableValue::kernel(tile("128")))}};
  const auto texts = [&table] {
    std::vector<std::string> all;
    for (const TableRow& each : table.rows) all.push_back(value_text(each.values[1], Unit::kName));
    return all;
  };
  const std::string elided = texts()[0];
  EXPECT_EQ(texts(), (std::vector<std::string>{elided, "gemm<8>", elided, elided}));
  tell_kernels_apart(table);
  const std::string head = std::string(19, 'x') + "…", tail = std::string(27, 'y') + "…";
  EXPECT_EQ(texts(), (std::vector<std::string>{head + "MT16x16x256_" + tail, "gemm<8>", elided,
                                               head + "MT16x16x128_" + tail}))
      << "an operator is none of them";
  EXPECT_EQ(whole_text(table.rows[0].values[1], Unit::kName), tile("256"));
}

TEST(Table, RowsAreFoundByWhatTheirCellsSay) {
  Table table = sample();
  table.rows.push_back({{std::string("other"), int64_t{7}, int64_t{0}, 0.0, 2.5e9}, {}, "b"});
  const auto found = [&table](const std::string& text) {
    std::string names;
    for (const TableRow& row : rows_with(table, text).rows) names += row.name;
    return names;
  };
  EXPECT_EQ(found("1.50"), "a");
  EXPECT_EQ(found("OTHER"), "b");
  EXPECT_EQ(found("2.5 GB"), "b") << "in the last column";
  EXPECT_EQ(found("0"), "ab") << "each once";
  EXPECT_EQ(found("zzz"), "");
  EXPECT_EQ(found("othe"), "b");
  EXPECT_EQ(found("\"othe\""), "") << "in quotes it is a whole value";
  EXPECT_EQ(found("\"other\""), "b");
}

TEST(Table, DropsTheColumnsThatItIsToldTo) {
  Table table = sample();
  drop_columns(table, [](size_t column) { return column == 0 || column == 3; });
  EXPECT_EQ(table_csv(table), "calls,total_ns,bus_bandwidth_bytes_per_s\r\n3,1500,\r\n");
  table.rows.push_back({{int64_t{0}, int64_t{0}, TableValue()}, {}, {}});
  EXPECT_FALSE(is_all_zero(table, 0)) << "only one is";
  table.rows.erase(table.rows.begin());
  EXPECT_TRUE(is_all_zero(table, 0));
  EXPECT_FALSE(is_all_zero(table, 2)) << "what is not known is not nought";
}

TEST(TableExport, TitlesBecomeKeys) {
  const auto key = [](const std::string& title, Unit unit) {
    const std::string line = table_csv({"t", {{title, unit}}, {}});
    return line.substr(0, line.size() - 2);
  };
  EXPECT_EQ(key("Samples/s", Unit::kRate), "samples_per_s");
  EXPECT_EQ(key("Comm. alone", Unit::kDuration), "comm_alone_ns");
  EXPECT_EQ(key("Bytes", Unit::kBytes), "bytes");
  EXPECT_EQ(key("In bytes", Unit::kBytes), "in_bytes");
  EXPECT_EQ(key("(Share)", Unit::kShare), "share");
  EXPECT_EQ(key("At", Unit::kTime), "at_ns");
  EXPECT_EQ(key("Change", Unit::kChange), "change_ns");
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
