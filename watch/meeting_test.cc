#include "watch/meeting.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "trace/report/hang_words.h"

namespace redline::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kToken = "0123456789abcdef";

// A port that was free a moment ago.
int free_port() {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Whether 127.0.0.1 takes the connection at this port.
bool connects(const FileDescriptor& connection, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

// What the one that listens answers to `words`.
std::string answer_to(int port, const std::string& words) {
  const FileDescriptor connection(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_TRUE(connects(connection, port));
  // Who does not know the token may be cut off before all is sent.
  static_cast<void>(::send(connection.get(), words.data(), words.size(), MSG_NOSIGNAL));
  shutdown(connection.get(), SHUT_WR);
  std::string answer;
  char bytes[256];
  for (ssize_t count = 0; (count = recv(connection.get(), bytes, sizeof(bytes), 0)) > 0;) {
    answer.append(bytes, static_cast<size_t>(count));
  }
  return answer;
}

// Sends until it is answered, because either side may be kept waiting for seconds.
MetVerdict sent(const Meeting& meeting, const std::string& host,
                const std::vector<std::string>& tables) {
  std::optional<MetVerdict> verdict;
  while (!verdict) verdict = meeting.send(host, tables);
  return *verdict;
}

class Meetings : public ::testing::Test {
 protected:
  [[nodiscard]] MeetingPlace place() const {
    return *MeetingPlace::parse("127.0.0.1:" + std::to_string(port_), kToken);
  }
  const int port_ = free_port();
};

TEST_F(Meetings, TheFirstListensAndTheOthersGetItsVerdict) {
  Meeting first(place()), second(place());
  EXPECT_FALSE(second.send("node1", {})) << "nobody is there";
  ASSERT_TRUE(first.try_to_listen());
  EXPECT_TRUE(first.try_to_listen()) << "still";
  EXPECT_FALSE(second.try_to_listen());
  MetVerdict verdict;
  first.set_verdict(verdict);
  EXPECT_FALSE(sent(second, "node1", {R"({"rank": 1})", R"({"rank": 2})"}).hang);
  EXPECT_THAT(first.tables(), ElementsAre(R"({"rank":1})", R"({"rank":2})"));
  EXPECT_FALSE(sent(second, "node2", {R"({"rank": 3})"}).hang);
  trace::Hang hang;
  hang.kind = trace::HangKind::kMismatch;
  hang.ranks = {2};
  hang.host = "node1";
  hang.group = "0";
  hang.sequence = 121;
  hang.operation = hang.expected = "all_reduce";
  hang.entered = "broadcast";
  hang.waiting_ranks = {0, 1};
  hang.stack = {"train.py:31 sync"};
  hang.since_ns = 7;
  first.set_verdict({hang, true});
  const auto met = sent(second, "node1", {});
  sent(second, "node2", {R"({"rank": 3})"});
  first.wait_until_heard(std::chrono::hours(1));
  EXPECT_THAT(first.tables(), ElementsAre(R"({"rank":3})")) << "node1 has no ranks any more";
  ASSERT_TRUE(met.hang);
  EXPECT_TRUE(met.is_sure);
  EXPECT_EQ(trace::hang_lines(*met.hang, 9), trace::hang_lines(hang, 9));
  EXPECT_EQ(met.hang->kind, trace::HangKind::kMismatch);
}

TEST_F(Meetings, ListenOnAllAddressesOfTheMachineButOfALoopbackAddressOnThatAlone) {
  Meeting meeting(*MeetingPlace::parse("0.0.0.0:" + std::to_string(port_), kToken));
  ASSERT_TRUE(meeting.try_to_listen());
  EXPECT_EQ(answer_to(port_, "no token"), "") << "127.0.0.1 takes the connection";
  const int port = free_port();
  Meeting alone(*MeetingPlace::parse("127.0.1.1:" + std::to_string(port), kToken));
  ASSERT_TRUE(alone.try_to_listen());
  EXPECT_FALSE(connects(FileDescriptor(socket(AF_INET, SOCK_STREAM, 0)), port));
}

TEST_F(Meetings, ListenOnlyOnTheNamedMachine) {
  Meeting meeting(*MeetingPlace::parse("192.0.2.9:" + std::to_string(port_), kToken));
  EXPECT_FALSE(meeting.try_to_listen()) << "an address that is for documents only";
}

TEST_F(Meetings, WhoDoesNotKnowTheTokenIsNotAnswered) {
  Meeting meeting(place());
  ASSERT_TRUE(meeting.try_to_listen());
  meeting.set_verdict({});
  const std::string body = R"({"host": "node1", "tables": []})";
  std::string answer;
  while (answer.empty()) answer = answer_to(port_, "redline.hang/1 0123456789abcdef\n" + body);
  EXPECT_THAT(answer, HasSubstr("sure"));
  for (const std::string greeting :
       {"", "redline.hang/1 0123456789abcdeF\n", "redline.hang/1 \n", "GET / HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(answer_to(port_, greeting + body), "") << greeting;
  }
  EXPECT_EQ(answer_to(port_, "redline.hang/1 0123456789abcdef\n{\"host\": 3"), "");
  EXPECT_EQ(answer_to(port_, "redline.hang/1 0123456789abcdef\n[1]"), "");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(
      answer_to(port_, "redline.hang/1 0123456789abcdef\n{\"host\": \"node1\", \"tables\": [" +
                           deep + "]}"),
      "");
  EXPECT_THAT(meeting.tables(), IsEmpty());
}

TEST(MeetingPlace, NeedsAPlaceAndASecret) {
  EXPECT_EQ(MeetingPlace::parse("::1:29700", kToken)->host, "::1");
  for (const char* address : {"", "node0", ":1", "node0:"}) {
    EXPECT_THAT(MeetingPlace::parse(address, kToken).error(), HasSubstr("HOST:PORT"));
  }
  EXPECT_THAT(MeetingPlace::parse("node0:1", "short").error(), HasSubstr("REDLINE_HANG_TOKEN"));
}

}  // namespace
}  // namespace redline::watch
