#include "watch/meeting.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include "base/json_values.h"
#include "base/quiet_thread.h"
#include "trace/emit/json_scan.h"

namespace redline::trace {

static void to_json(nlohmann::json& name, HangKind kind) { name = hang_kind_name(kind); }
static void from_json(const nlohmann::json& name, HangKind& kind) {
  kind = hang_kind_of(name.get<std::string>());
}
// What hang_lines() says of a job that has not ended.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hang, kind, ranks, host, group, sequence, operation, entered,
                                   expected, step, waiting_ranks, stack, phase, error, since_ns)

}  // namespace redline::trace

namespace redline::watch {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kGreeting = "redline.hang/1 ";
constexpr size_t kFewestLetters = 16;
constexpr size_t kMostBytes = size_t{256} << 20;  // tables of a thousand ranks have 17 MB
constexpr auto kSocketPatience = std::chrono::seconds(2);
constexpr int kPollMs = 200;
constexpr int kBacklog = 1024;

struct Addresses {
  Addresses(const char* host, const char* port, int flags = 0, int family = AF_UNSPEC) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = flags;
    wanted.ai_family = family;
    if (getaddrinfo(host, port, &wanted, &first) != 0) first = nullptr;
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
  addrinfo* first = nullptr;
};

int new_socket(const addrinfo& address) {
  return socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
}

// Whether an address of `host` belongs to this machine: no socket gets another's.
bool is_this_machine(const std::string& host) {
  const Addresses addresses(host.c_str(), "0");
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    const FileDescriptor probe(new_socket(*address));
    if (bind(probe.get(), address->ai_addr, address->ai_addrlen) == 0) return true;
  }
  return false;
}

// An address by number, or localhost: nobody beyond it can reach this machine by it. A name need
// not be: the machine's own is often 127.0.1.1 to itself.
bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && inet_addr(host.c_str()) != INADDR_NONE);
}

// Listens at the place on this machine: on all its addresses, of IPv4 and IPv6, so that other
// machines reach it. nullopt if the port is taken.
std::optional<FileDescriptor> listen_at(const MeetingPlace& place) {
  const bool is_alone = is_loopback(place.host);
  for (const int family : {AF_INET6, AF_INET}) {  // the latter where the kernel has no IPv6
    const Addresses own(is_alone ? place.host.c_str() : nullptr, place.port.c_str(), AI_PASSIVE,
                        is_alone ? AF_UNSPEC : family);
    if (own.first == nullptr) continue;
    FileDescriptor listener(new_socket(*own.first));
    const int yes = 1, no = 0;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(listener.get(), own.first->ai_addr, own.first->ai_addrlen) == 0 &&
        listen(listener.get(), kBacklog) == 0) {
      return listener;
    }
  }
  return std::nullopt;
}

void set_patience(int connection) {
  const timeval limit{.tv_sec = kSocketPatience.count(), .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Appends what comes until `text` has `enough` bytes or the other side has sent all. False if that
// does not come in time.
bool receive(int connection, std::string& text, size_t enough) {
  const auto deadline = Clock::now() + kSocketPatience;
  while (text.size() < enough) {
    char bytes[1 << 16];
    const size_t most = std::min(sizeof(bytes), enough - text.size());
    const ssize_t count = recv(connection, bytes, most, 0);
    if (count == 0) return true;
    if (count < 0 || Clock::now() > deadline) return false;
    text.append(bytes, static_cast<size_t>(count));
  }
  return true;
}

// Takes as long for a wrong token as for the right one.
bool is_same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(left[i]) ^
                                        static_cast<unsigned char>(right[i]));
  }
  return difference == 0;
}

}  // namespace

tl::expected<MeetingPlace, std::string> MeetingPlace::parse(const std::string& address,
                                                            const std::string& token) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return tl::unexpected("REDLINE_HANG_MEET=" + address + ": give HOST:PORT, such as node0:29700");
  }
  if (token.size() < kFewestLetters || token.find('\n') != std::string::npos) {
    return tl::unexpected(std::string(
        "REDLINE_HANG_MEET needs REDLINE_HANG_TOKEN, one secret of at least 16 characters for all "
        "launchers of the job, such as that of: openssl rand -hex 16"));
  }
  return MeetingPlace{address.substr(0, colon), address.substr(colon + 1), token};
}

Meeting::Meeting(MeetingPlace place) : place_(std::move(place)) {}

Meeting::~Meeting() {
  is_over_ = true;
  if (thread_) thread_->join();
}

bool Meeting::try_to_listen() {
  if (listener_) return true;
  auto listener = is_this_machine(place_.host) ? listen_at(place_) : std::nullopt;
  if (!listener) return false;
  listener_.emplace(*std::move(listener));
  thread_ = start_quiet_thread([this] { serve(); });
  return true;
}

void Meeting::serve() {
  while (!is_over_) {
    pollfd waiting{.fd = listener_->get(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kPollMs) <= 0) continue;
    const FileDescriptor connection(accept4(listener_->get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0) continue;
    try {
      answer(connection.get());
    } catch (const std::exception&) {  // no memory, or somebody with the token sends nonsense
    }
  }
}

void Meeting::answer(int connection) {
  set_patience(connection);
  const std::string greeting = std::string(kGreeting) + place_.token + "\n";
  std::string text;
  if (!receive(connection, text, greeting.size()) || !is_same_secret(text, greeting)) return;
  text.clear();
  if (!receive(connection, text, kMostBytes)) return;
  if (trace::is_too_deep(text)) return;
  const json sent = json::parse(text);
  std::vector<std::string> tables;
  for (const json& table : sent.at("tables")) tables.push_back(json_text(table));
  const std::lock_guard lock(mutex_);
  const auto host = sent.at("host").get<std::string>();
  by_host_[host] = std::move(tables);
  if (send_all(connection, verdict_) && unheard_.erase(host) > 0) heard_.notify_all();
}

std::vector<std::string> Meeting::tables() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [host, tables] : by_host_) all.insert(all.end(), tables.begin(), tables.end());
  return all;
}

void Meeting::set_verdict(const MetVerdict& verdict) {
  const json object = {{"sure", verdict.is_sure}, {"hang", verdict.hang}};
  const std::lock_guard lock(mutex_);
  std::string text = json_text(object);
  if (text == verdict_) return;
  verdict_ = std::move(text);
  unheard_.clear();
  for (const auto& [host, tables] : by_host_) unheard_.insert(host);
}

void Meeting::wait_until_heard(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  heard_.wait_for(lock, patience, [this] { return unheard_.empty(); });
}

std::optional<MetVerdict> Meeting::send(const std::string& host,
                                        const std::vector<std::string>& tables) const {
  json object = {{"host", host}, {"tables", json::array()}};
  for (const std::string& table : tables) object["tables"].push_back(json::parse(table));
  const Addresses addresses(place_.host.c_str(), place_.port.c_str());
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    const FileDescriptor connection(new_socket(*address));
    set_patience(connection.get());  // for connect(), too
    if (connect(connection.get(), address->ai_addr, address->ai_addrlen) != 0) continue;
    std::string answer;
    if (!send_all(connection.get(), std::string(kGreeting) + place_.token + "\n") ||
        !send_all(connection.get(), json_text(object)) ||
        shutdown(connection.get(), SHUT_WR) != 0 ||
        !receive(connection.get(), answer, kMostBytes) || answer.empty()) {
      continue;
    }
    try {
      const json verdict = json::parse(answer);
      auto hang = verdict.at("hang").get<std::optional<trace::Hang>>();
      if (hang && hang->ranks.empty()) continue;  // a verdict on nobody
      return MetVerdict{std::move(hang), verdict.at("sure").get<bool>()};
    } catch (const std::exception&) {  // not from a launcher of this version
    }
  }
  return std::nullopt;
}

}  // namespace redline::watch
