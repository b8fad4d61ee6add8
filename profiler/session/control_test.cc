// Tests where a recorded process listens. tests/python/test_trigger.py tests what it answers.
#include "profiler/session/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "profiler/request/trigger.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::profiler {
namespace {

namespace fs = std::filesystem;

/// Whether the control thread takes this process's call in `folder`. It hangs up without a request.
bool is_heard_in(const std::string& folder) {
  const auto address = launch::socket_address(launch::control_socket(folder, getpid()));
  const FileDescriptor call(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&*address);
  char byte = 0;
  return connect(call.get(), generic, sizeof(*address)) == 0 &&
         shutdown(call.get(), SHUT_WR) == 0 && recv(call.get(), &byte, 1, 0) == 0;
}

void expect_heard_in(const std::string& folder) {
  EXPECT_TRUE(wake_control_thread(Call::kListen));
  while (!is_heard_in(folder)) std::this_thread::yield();
}

TEST(Control, ListensAgainWhereItsFolderIsGone) {
  const testing::TemporaryFolder runtime;
  const testing::Variables variables("XDG_RUNTIME_DIR", runtime.path());
  const std::string own = runtime / "redline";
  ASSERT_TRUE(listen_for_captures({}));
  expect_heard_in(own);
  fs::remove_all(own);
  fs::create_directory(own);
  fs::permissions(own, fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_TRUE(wake_control_thread(Call::kListen)) << "others can enter it";
  fs::permissions(own, fs::perms::owner_all);
  expect_heard_in(own);
  fs::remove_all(runtime.path());
  expect_heard_in("/tmp/redline-" + std::to_string(geteuid()));
}

}  // namespace
}  // namespace redline::profiler
