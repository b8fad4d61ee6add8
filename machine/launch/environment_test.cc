#include "machine/launch/environment.h"
#include "tests/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace redline::launch {
namespace {

TEST(Environment, CopiesTheProcess) {
  setenv("REDLINE_TEST_VALUE", "a=b", 1);
  EXPECT_EQ(Environment::current().get("REDLINE_TEST_VALUE"), "a=b");
  unsetenv("REDLINE_TEST_VALUE");
  EXPECT_EQ(Environment::current().get("REDLINE_TEST_VALUE"), std::nullopt);
}

TEST(Environment, PrependsAnEntryOnce) {
  Environment environment;
  environment.prepend("PYTHONPATH", "/a");
  EXPECT_EQ(environment.get("PYTHONPATH"), "/a");
  environment.prepend("PYTHONPATH", "/b");
  environment.prepend("PYTHONPATH", "/b");
  EXPECT_EQ(environment.get("PYTHONPATH"), "/b:/a");
}

TEST(Environment, StringsAreNameEqualsValue) {
  Environment environment;
  environment.set("B", "2");
  environment.set("A", "1=1");
  EXPECT_EQ(environment.strings(), (std::vector<std::string>{"A=1=1", "B=2"}));
}

TEST(Environment, FindsThePythonPackageOfTheSourceTree) {
  ASSERT_TRUE(python_folder());
  EXPECT_EQ(*python_folder(), redline::testing::source_dir() + "/python");
}

}  // namespace
}  // namespace redline::launch
