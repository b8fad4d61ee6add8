// Which CUPTI is used, and what a trace says where it cannot be used.
#include "profiler/cupti/cupti_library.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "profiler/cupti/testing_source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(CuptiLibrary, NamesTheFunctionsThatCuptiNames) {
  Library library;
  library.get_callback_name = [](int domain, uint32_t function, const char** name) {
    *name = domain == kDriverDomain ? nullptr : "cudaMalloc_v3020";
    return function == 7 ? kSuccess : kUnknown;
  };
  EXPECT_EQ(library.function_name(kRuntimeDomain, 7), "cudaMalloc_v3020");
  EXPECT_EQ(library.function_name(kRuntimeDomain, 8), "");
  EXPECT_EQ(library.function_name(kDriverDomain, 7), "");
}

TEST(CuptiLibrary, NamesErrorsAsCuptiDoes) {
  Library library;
  library.get_result_string = [](Result result, const char** text) {
    *text = result == kNotInitialized ? nullptr : "CUPTI_ERROR_SOME";
    return result == kUnknown ? kUnknown : kSuccess;
  };
  EXPECT_EQ(library.error_text(kNotCompatible), "CUPTI_ERROR_SOME");
  EXPECT_EQ(library.error_text(kUnknown), "CUPTI error 999");
  EXPECT_EQ(library.error_text(kNotInitialized), "CUPTI error 15");
}

TEST(CuptiLibrary, ThatWhichFitsTheDriverComesFirst) {
  EXPECT_EQ(library_names(13000).front(), "libcupti.so.13");
  EXPECT_EQ(library_names(14000).front(), "libcupti.so.13");
  const auto names = library_names(12080);
  EXPECT_EQ(names[0], "libcupti.so.12");
  EXPECT_EQ(names[1], "libcupti.so.11.8");
  EXPECT_EQ(names.back(), "libcupti.so.13") << "a driver by cuda-compat may still serve it";
  EXPECT_EQ(library_names(11080).front(), "libcupti.so.11.8");
  EXPECT_EQ(library_names(10020).front(), "libcupti.so") << "the toolkit's own";
  const auto of_unknown_driver = library_names(0);
  EXPECT_EQ(of_unknown_driver.size(), names.size());
  EXPECT_EQ(of_unknown_driver.front(), "libcupti.so.13");
  EXPECT_EQ(of_unknown_driver.back(), "/usr/local/cuda/lib64/libcupti.so");
}

TEST(CuptiLibrary, IsTheOneThatTheProcessHasLoaded) {
  const Library library = **find_library();
  EXPECT_EQ(library.path, loaded_library("libcupti.so"));
  EXPECT_TRUE(library.path.ends_with("/libcupti.so.13")) << library.path;
  EXPECT_EQ(library.version, 130001U);
}

TEST_F(FreshSource, RefusesAnOlderCupti) {
  stub::set_cupti_version(17);
  EXPECT_THAT(std::string(recorded()["redline"]["gpu"]["off"]), HasSubstr("CUDA 11.8 or later"));
}

struct Failure {
  const char* function;
  int result;
  const char* said;
};

TEST_F(FreshSource, EachFailureLeavesACpuTraceAndOneLine) {
  const Failure failures[] = {
      {"cuptiGetVersion", 999, "CUPTI_ERROR_UNKNOWN"},
      {"cuptiActivityRegisterCallbacks", 999, "CUPTI_ERROR_UNKNOWN"},
      {"cuptiActivityEnable", 999, "redline doctor"},
      {"cuptiActivityEnable", 14, "torch's cupti_monitor"},
      {"cuptiActivityEnable", 15, "too old"},
      {"cuptiActivityEnable", 35, "NVreg_RestrictProfilingToAdminUsers"},
      {"cuptiActivityEnable", 39, "one tool at a time"},
      {"cuptiActivityEnable", 45, "WSL"},
  };
  for (const auto& [function, result, said] : failures) {
    SCOPED_TRACE(std::string(function) + " " + std::to_string(result));
    stub::reset_cupti();
    stub::fail_cupti(function, result);
    CuptiSource fresh;
    begin(false);
    ::testing::internal::CaptureStderr();
    for (int window = 0; window < 2; ++window) {
      fresh.enable({});
      fresh.disable();
    }
    const std::string all = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(all, HasSubstr("redline: no GPU activity in the trace: "));
    EXPECT_THAT(all, HasSubstr(said));
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1);
    redline_range_push("on the CPU");
    redline_range_pop();
    const json trace = end();
    EXPECT_EQ(events(trace, "user_annotation").size(), 1u);
    EXPECT_THAT(std::string(trace["redline"]["gpu"]["off"]), HasSubstr(said));
    redline_discard();
  }
}

}  // namespace
}  // namespace redline::cupti
