#include "profiler/request/trigger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::launch {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

// A try in which the listener got no core for its words within the patience shows nothing.
constexpr int kMostTries = 20;

/// This process listens as a recorded one does.
class Trigger : public ::testing::Test, protected testing::Variables {
 protected:
  Trigger() {
    set("XDG_RUNTIME_DIR", runtime_.path());
    const auto address =
        socket_address(control_socket(make_control_folder().value(), getpid())).value();
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
  }
  ~Trigger() override { close(listener_); }

  /// Takes the request of whoever connects.
  [[nodiscard]] int hear() const {
    const int client = accept(listener_, nullptr, nullptr);
    char bytes[4096];
    EXPECT_GT(recv(client, bytes, sizeof(bytes), 0), 0);
    return client;
  }
  /// To nobody if who asked has left.
  static void say(int client, const std::string& key, const std::string& text) {
    const std::string line = R"({")" + key + R"(": ")" + text + "\"}\n";
    static_cast<void>(send(client, line.data(), line.size(), MSG_NOSIGNAL));
  }
  static std::vector<std::string> said_until_done(
      std::chrono::nanoseconds patience,
      const std::function<void(const TriggerReport&)>& hear_too) {
    std::vector<std::string> said;
    trigger(
        {getpid()}, {.steps = 2, .directory = "", .patience = patience},
        [&](const TriggerReport& report) {
          said.push_back(report.progress + report.path + report.error);
          hear_too(report);
        },
        false);
    return said;
  }

 private:
  const testing::TemporaryFolder runtime_;
  const int listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

TEST_F(Trigger, AProcessThatMakesNoStepIsLeftAlone) {
  std::vector<std::string> said;
  ssize_t heard = -1;
  for (int i = 0; i < kMostTries && said.empty(); ++i) {
    std::thread process([&] {
      const int client = hear();
      say(client, "progress", "waiting for the next step");
      char byte = 0;
      heard = recv(client, &byte, 1, 0);
      close(client);
    });
    said = said_until_done(std::chrono::seconds(1), [](const auto&) {});
    process.join();
  }
  EXPECT_EQ(heard, 0) << "who asked has left";
  EXPECT_THAT(said, ElementsAre("waiting for the next step"));
}

TEST_F(Trigger, AWindowThatHasBegunMayTakeLong) {
  constexpr std::chrono::seconds kPatience(2);
  std::vector<std::string> said;
  for (int i = 0; i < kMostTries && said.size() < 2; ++i) {
    const auto end = steady_clock::now() + 2 * kPatience;
    std::thread process([&] {
      const int client = hear();
      say(client, "progress", "waiting for the next step");
      say(client, "progress", "0 of 2 steps");
      std::this_thread::sleep_until(end);
      say(client, "path", "/traces/1");
      close(client);
    });
    said = said_until_done(kPatience, [](const auto&) {});
    process.join();
  }
  EXPECT_THAT(said, ElementsAre("waiting for the next step", "0 of 2 steps", "/traces/1"));
}

TEST(ControlSocket, IsThatOfAProcessOfThisNamespace) {
  const testing::TemporaryFolder folder;
  struct stat facts {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &facts), 0);
  const std::string own = control_socket(folder.path(), 7);
  EXPECT_EQ(own, folder.path() + "/7." + std::to_string(facts.st_ino) + ".sock");
  // Of a process in another container that has the folder, too.
  const std::string other = folder.path() + "/8." + std::to_string(facts.st_ino + 1) + ".sock";
  for (const std::string& path : {own, other, folder.path() + "/9.sock"}) std::ofstream{path};
  EXPECT_THAT(listening_processes({folder.path()}), ElementsAre(7));
}

}  // namespace
}  // namespace redline::launch
