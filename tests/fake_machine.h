// A machine made of files: a folder of its own for a test, with the proc, sys and dev that the test
// puts there. What reads the machine takes this folder as its root.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace redline::testing {

class FakeMachine {
 public:
  FakeMachine() {
    if (mkdtemp(root_.data()) == nullptr) throw std::runtime_error("no folder " + root_);
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::string& root() const { return root_; }

  /// `file` is within the root: "proc/self/stat".
  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void remove(const std::string& file) const { std::filesystem::remove_all(root_ + "/" + file); }

 private:
  std::string root_ = ::testing::TempDir() + "fake_machine.XXXXXX";
};

}  // namespace redline::testing
