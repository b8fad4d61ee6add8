#include "tuner/space/knob.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

TEST(Knob, ReadsRangesAndChoices) {
  struct Row {
    const char* text;
    const char* shown;
    bool range;
    bool numeric;
  };
  for (const Row& row :
       {Row{"batch_size=1..4096", "1..4096", true, true},
        Row{"num_workers=0..0", "0..0", true, true},
        Row{"amp=off,bf16,fp16", "off,bf16,fp16", false, false},
        Row{"prefetch_factor=2,4,8", "2,4,8", false, true}, Row{"shift=-4..4", "-4..4", true, true},
        Row{"name=a=b,c", "a=b,c", false, false},
        Row{"config=../a.yaml,../b.yaml", "../a.yaml,../b.yaml", false, false}}) {
    const auto knob = parse_knob(row.text);
    ASSERT_TRUE(knob) << knob.error();
    EXPECT_EQ(knob->text(), row.shown);
    EXPECT_EQ(knob->is_range(), row.range) << row.text;
    EXPECT_EQ(knob->is_numeric(), row.numeric) << row.text;
  }
}

TEST(Knob, ErrorsSayWhatIsWrongAndWhatWouldBeRight) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row :
       {Row{"batch=8..4",
            "--knob batch=8..4: the range is empty (8 > 4). Example: --knob batch_size=8..512"},
        Row{"lr", "--knob lr: it has no values. Example: --knob lr=1,2,4"},
        Row{"lr=", "--knob lr=: a value is empty. Example: --knob lr=1,2,4"},
        Row{"lr=1,,2", "--knob lr=1,,2: a value is empty. Example: --knob lr=1,2,4"},
        Row{"lr=1,1", "--knob lr=1,1: '1' is named twice. Example: --knob lr=1,2,4"},
        Row{"batch_size=1..x",
            "--knob batch_size=1..x: a range is LOW..HIGH, two integers. "
            "Example: --knob batch_size=8..512"},
        Row{"=1",
            "--knob =1: a name is letters, digits, '_' and '-'. Example: --knob "
            "batch_size=8..512"},
        Row{"x=1..2,8",
            "--knob x=1..2,8: a range is LOW..HIGH, two integers. Example: --knob x=1,2,4"},
        Row{"x=0..9223372036854775807",
            "--knob x=0..9223372036854775807: a range goes no farther than 9007199254740992. "
            "Example: --knob x=1,2,4"},
        Row{"x=-9223372036854775808..0",
            "--knob x=-9223372036854775808..0: a range goes no farther than 9007199254740992. "
            "Example: --knob x=1,2,4"},
        Row{"batch_size=1..99999999999999999999",
            "--knob batch_size=1..99999999999999999999: a range is LOW..HIGH, two integers. "
            "Example: --knob batch_size=8..512"}}) {
    const auto knob = parse_knob(row.text);
    ASSERT_FALSE(knob) << row.text;
    EXPECT_EQ(knob.error(), row.error);
  }
}

TEST(Knob, TheHookTakesTheValuesThatItKnows) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row :
       {Row{"batch_size=0..4",
            "--knob batch_size=0..4: batch_size cannot be less than 1 (it begins "
            "at 0). Example: --knob batch_size=8..512"},
        Row{"num_workers=auto,4",
            "--knob num_workers=auto,4: num_workers takes integers. "
            "Example: --knob num_workers=0..16"},
        Row{"amp=on",
            "--knob amp=on: amp cannot be 'on' (it takes off,bf16,fp16). Example: --knob "
            "amp=off,bf16,fp16"},
        Row{"pin_memory=0..1",
            "--knob pin_memory=0..1: pin_memory takes off,on, not a range. "
            "Example: --knob pin_memory=off,on"}}) {
    const auto known = check_for_hook(*parse_knob(row.text));
    ASSERT_FALSE(known) << row.text;
    EXPECT_EQ(known.error(), row.error);
  }
  EXPECT_TRUE(check_for_hook(*parse_knob("amp=off,bf16")));
  EXPECT_TRUE(check_for_hook(*parse_knob("lr=a,b"))) << "none of the hook's";
}

TEST(Knob, WhatCannotBeShownIsNoValue) {
  for (const char* text : {"x=\xff,b", "x=a\tb", "x=a\xe2\x80\xae", "\xff=1"}) {
    const auto knob = parse_knob(text);
    ASSERT_FALSE(knob) << text;
    EXPECT_NE(knob.error().find("is not UTF-8 or cannot be shown"), std::string::npos)
        << knob.error();
  }
  EXPECT_TRUE(parse_knob("x=ä,b"));
}

TEST(Knob, OnlyATextThatANumberHasIsWrittenAsOne) {
  EXPECT_EQ(plain_number("10"), 10);
  EXPECT_EQ(plain_number("-4"), -4);
  for (const char* text : {"010", "-0", "+1", "1.0", "", "x"}) {
    EXPECT_EQ(plain_number(text), std::nullopt) << text;
  }
}

TEST(Knob, NearestStaysInRangeAndPrefersWholeMultiplesOfEight) {
  const Knob batch = *parse_knob("batch_size=3..500");
  EXPECT_EQ(batch.nearest(0), 3);
  EXPECT_EQ(batch.nearest(13), 13);
  EXPECT_EQ(batch.nearest(101), 96);
  EXPECT_EQ(batch.nearest(1e9), 500);
  const Knob narrow = *parse_knob("batch_size=100..101");
  EXPECT_EQ(narrow.nearest(100), 100);
  const Knob workers = *parse_knob("num_workers=0..19");
  EXPECT_EQ(workers.nearest(18.6), 19);
  const Knob choices = *parse_knob("prefetch_factor=8,2,4");
  EXPECT_EQ(choices.nearest(3.4), 4);
  EXPECT_EQ(choices.nearest(-5), 2);
  EXPECT_EQ(choices.low, 2);
  EXPECT_EQ(choices.high, 8);
}

TEST(Knob, AtMostKeepsBelowWhereItCan) {
  const Knob sizes = *parse_knob("batch_size=8,64,128");
  EXPECT_EQ(sizes.at_most(127), 64) << "128 is nearer";
  EXPECT_EQ(sizes.at_most(1e9), 128);
  EXPECT_EQ(sizes.at_most(3), 8);
  EXPECT_EQ(parse_knob("batch_size=1..4096")->at_most(103.9), 96);
}

}  // namespace
}  // namespace redline::tuner
