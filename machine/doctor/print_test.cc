#include "machine/doctor/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace redline::doctor {
namespace {

const std::vector<Check> kChecks = {
    {State::kOk, "driver", {"580.65.06", "CUDA 13.0"}, ""},
    {State::kWarning,
     "CUPTI",
     {"13.0.85", "only root may read GPU activity"},
     "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, reboot"},
    {State::kError, "PyTorch", {"ImportError: libcudart.so.13"}, "reinstall torch …"},
    {State::kAbsent, "CUDA toolkit", {"none"}, ""},
};

TEST(Text, IsAlignedWrappedAndCounted) {
  EXPECT_EQ(as_text(kChecks, {.colour = false, .utf8 = true}),
            "✓ driver        580.65.06 · CUDA 13.0\n"
            "! CUPTI         13.0.85 · only root may read GPU activity\n"
            "                cure: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in\n"
            "                /etc/modprobe.d, reboot\n"
            "✗ PyTorch       ImportError: libcudart.so.13\n"
            "                cure: reinstall torch …\n"
            "- CUDA toolkit  none\n"
            "1 error, 1 warning\n");
}

TEST(Text, IsAsciiWhereTheLocaleIs) {
  const std::string text = as_text(kChecks, {.colour = false, .utf8 = false});
  EXPECT_THAT(text, ::testing::StartsWith("+ driver        580.65.06, CUDA 13.0\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("\nx PyTorch "));
  EXPECT_THAT(text, ::testing::HasSubstr("reinstall torch ...\n"));
  for (const char byte : text) EXPECT_LT(static_cast<unsigned char>(byte), 0x80);
}

TEST(Text, ColoursTheSymbolAlone) {
  EXPECT_THAT(as_text(kChecks, {.colour = true, .utf8 = true}),
              ::testing::StartsWith("\033[38;5;35m✓\033[0m driver"));
}

TEST(Text, StaysWithinEightyColumns) {
  const std::string path = "/" + std::string(200, 'd') + "/bin/python";
  const Check check{State::kOk, "PyTorch", {"2.11.0", path, "Python 3.11.2"}, ""};
  const std::string text = as_text({check}, {.colour = false, .utf8 = false});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text, ::testing::HasSubstr("ddd/bin/python\n"));
}

TEST(Json, BeginsWithItsSchemaAndNeverSaysZeroForAbsent) {
  Facts facts;
  facts.python = Python{};
  facts.python->executable = "/bad-\xff-name/python";
  const std::string text = as_json(facts, kChecks);
  EXPECT_THAT(text, ::testing::StartsWith("{\n  \"schema\": \"redline.doctor/1\""));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["warnings"], 1);
  EXPECT_TRUE(json["driver"].is_null());
  EXPECT_TRUE(json["host"]["shm_bytes"].is_null());
  EXPECT_EQ(json["gpus"].size(), 0U);
  EXPECT_EQ(json["checks"][1]["state"], "warning");
  EXPECT_EQ(json["checks"][1]["text"], "13.0.85, only root may read GPU activity");
  EXPECT_TRUE(json["checks"][0]["cure"].is_null());
}

TEST(Json, NamesGpusAsTheDriverCountsThem) {
  Facts facts;
  facts.driver.emplace().gpus.emplace_back().index = 1;
  facts.driver->unusable = {{0, "GPU is lost", 15}};
  const auto json = nlohmann::json::parse(as_json(facts, kChecks));
  EXPECT_EQ(json["gpus"][0]["index"], 1);
  EXPECT_EQ(json["unusable_gpus"][0]["index"], 0);
  EXPECT_EQ(json["unusable_gpus"][0]["failure"], "GPU is lost");
}

}  // namespace
}  // namespace redline::doctor
