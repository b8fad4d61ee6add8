// A machine made of files: a folder of its own for a test, with the proc, sys and dev that the test
// puts there. What reads the machine takes this folder as its root.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace redline::testing {

class FakeMachine {
 public:
  [[nodiscard]] const std::string& root() const { return folder_.path(); }

  /// `file` is within the root: "proc/self/stat".
  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void remove(const std::string& file) const { std::filesystem::remove_all(root() + "/" + file); }

 private:
  TemporaryFolder folder_;
};

}  // namespace redline::testing
