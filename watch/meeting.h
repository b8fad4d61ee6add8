// Where machines share no folder, the launchers of a job meet by TCP: the first one on the agreed
// machine listens, and all others send it the tables of their ranks and get its verdict.
//
// Nobody listens unless the environment gives both a place and a token, and who does not send the
// token is not answered. The token crosses the network as it is, so it keeps out strangers of a
// cluster, not those who read along.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "base/file.h"
#include "trace/analysis/hang.h"

namespace redline::watch {

/// REDLINE_HANG_MEET and REDLINE_HANG_TOKEN.
struct MeetingPlace {
  std::string host;
  std::string port;
  std::string token;

  /// "node0:29700". The token must have at least 16 characters, so that nobody guesses it.
  [[nodiscard]] static tl::expected<MeetingPlace, std::string> parse(const std::string& address,
                                                                     const std::string& token);
};

/// What the listening launcher knows of a hang.
struct MetVerdict {
  std::optional<trace::Hang> hang;
  bool is_sure = false;  ///< to be told; otherwise it may still change
};

class Meeting {
 public:
  explicit Meeting(MeetingPlace place);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Listens if the place is on this machine and nobody does yet. Whether this launcher is the one
  /// that listens.
  bool try_to_listen();

  [[nodiscard]] std::string address() const { return place_.host + ":" + place_.port; }

  /// For the one that listens: the tables that others sent, one JSON object each.
  [[nodiscard]] std::vector<std::string> tables() const;
  void set_verdict(const MetVerdict& verdict);
  /// Until all launchers that sent tables have got the verdict, but no longer than `patience`.
  void wait_until_heard(std::chrono::nanoseconds patience);

  /// For all others: sends the tables of the ranks on `host`. nullopt if nobody answers.
  [[nodiscard]] std::optional<MetVerdict> send(const std::string& host,
                                               const std::vector<std::string>& tables) const;

 private:
  void serve();
  void answer(int connection);

  const MeetingPlace place_;
  std::optional<FileDescriptor> listener_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> by_host_;
  std::string verdict_;
  std::set<std::string> unheard_;  ///< launchers that do not have the verdict yet
  std::condition_variable heard_;
  std::atomic<bool> is_over_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace redline::watch
