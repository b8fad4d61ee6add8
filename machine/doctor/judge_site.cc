// Judges what a job needs besides cores and GPUs: the disk, the network, the clocks of the nodes.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/format.h"
#include "base/terminal.h"
#include "machine/doctor/judge.h"

namespace redline::doctor {

namespace {

constexpr int64_t kLittleRoom = 5LL << 30;
constexpr size_t kShownInterfaces = 4;

bool is_network_filesystem(const std::string& name) {
  for (const char* start :
       {"nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "beegfs", "9p", "glusterfs"}) {
    if (name.starts_with(start)) return true;
  }
  return name == "fuse.sshfs" || name == "virtiofs";
}

std::string kind_of(const DataFolder& data) {
  if (data.filesystem == "tmpfs") return "in memory (tmpfs)";
  const std::string where = data.filesystem + " on " + data.source;
  if (is_network_filesystem(data.filesystem)) return "network: " + where;
  if (!data.rotating) return where;
  return (*data.rotating ? "hard disk: " : "SSD: ") + where;
}

Check judge_data(const DataFolder& data) {
  Check check{State::kOk, "data folder", {space_text(data.bytes, data.free_bytes)}, ""};
  if (!data.filesystem.empty()) check.parts.push_back(kind_of(data));
  check.parts.push_back(data.folder);
  if (data.free_bytes < kLittleRoom) {
    check.state = State::kWarning;
    check.cure = "traces and checkpoints may fill it: free some space, or choose another folder";
  } else if (data.rotating.value_or(false)) {
    check.state = State::kWarning;
    check.cure = "many small files in random order are slow on a hard disk: copy them to an SSD";
  }
  return check;
}

/// Whether NCCL would take this interface. `choice` is a list of beginnings of names. With "=" it
/// is a list of whole names, and with "^" a list of interfaces that NCCL must not take.
bool nccl_takes(const std::string& choice, const std::string& name) {
  const bool excludes = choice.starts_with('^');
  const std::string rest = excludes ? choice.substr(1) : choice;
  const bool whole = rest.starts_with('=');
  std::istringstream words(whole ? rest.substr(1) : rest);
  bool named = false;
  for (std::string word; std::getline(words, word, ',');) {
    if (!word.empty()) named |= whole ? name == word : name.starts_with(word);
  }
  return named != excludes;
}

bool any_interface(const Network& network, const std::string& choice, bool whole_names) {
  return std::ranges::any_of(network.interfaces, [&](const NetworkInterface& interface) {
    return nccl_takes(whole_names ? "=" + choice : choice, interface.name);
  });
}

std::string speed_text(const NetworkInterface& interface) {
  if (!interface.megabits) return interface.name;
  return *interface.megabits % 1000 == 0
             ? fmt::format("{} {} Gbit/s", interface.name, *interface.megabits / 1000)
             : fmt::format("{} {} Mbit/s", interface.name, *interface.megabits);
}

/// Interfaces of containers are not shown. NCCL does not use them either.
bool is_shown(const NetworkInterface& interface) {
  for (const char* start : {"lo", "docker", "veth", "br-", "virbr"}) {
    if (interface.name.starts_with(start)) return false;
  }
  return interface.up;
}

std::string names_of(const std::vector<NetworkInterface>& interfaces) {
  std::vector<std::string> names;
  for (const NetworkInterface& interface : interfaces) names.push_back(interface.name);
  return joined(names, ", ");
}

void warn_of_choice(const Network& network, const char* variable,
                    const std::optional<std::string>& choice, bool whole_names, Check& check) {
  if (!choice || choice->empty()) return;
  check.parts.push_back(fmt::format("{}={}", variable, *choice));
  if (any_interface(network, *choice, whole_names)) return;
  check.state = State::kWarning;
  check.cure = fmt::format("{} names no interface of this machine ({}): unset it, or name one",
                           variable, names_of(network.interfaces));
}

Check judge_interfaces(const Network& network) {
  Check check{State::kOk, "network", {}, ""};
  size_t more = 0;
  for (const NetworkInterface& interface : network.interfaces) {
    if (!is_shown(interface)) continue;
    if (check.parts.size() < kShownInterfaces) {
      check.parts.push_back(speed_text(interface));
    } else {
      ++more;
    }
  }
  if (more > 0) check.parts.push_back(fmt::format("{} more", more));
  if (check.parts.empty()) {
    check.state = State::kAbsent;
    check.parts = {"this machine alone"};
  }
  warn_of_choice(network, "NCCL_SOCKET_IFNAME", network.nccl_interfaces, false, check);
  warn_of_choice(network, "GLOO_SOCKET_IFNAME", network.gloo_interfaces, true, check);
  return check;
}

Check judge_infiniband(const Network& network) {
  if (network.infiniband.empty()) return {State::kAbsent, "InfiniBand", {"no device"}, ""};
  Check check{State::kOk, "InfiniBand", {}, ""};
  size_t down = 0;
  for (const InfinibandPort& port : network.infiniband) {
    if (!port.active) {
      ++down;
    } else if (check.parts.size() < kShownInterfaces) {
      check.parts.push_back(port.rate.empty() ? port.name : port.name + " " + port.rate);
    }
  }
  const bool none = down == network.infiniband.size();
  if (down > 0)
    check.parts.push_back(format_plural(down, "port") + (down == 1 ? " is" : " are") + " down");
  if (none) {
    check.state = State::kWarning;
    check.cure =
        "NCCL falls back to sockets: ask the administrator for the cable and the subnet manager";
  } else if (network.infiniband_disabled) {
    check.state = State::kWarning;
    check.parts.emplace_back("NCCL_IB_DISABLE=1");
    check.cure = "NCCL does not use it: unset NCCL_IB_DISABLE";
  } else if (!network.infiniband_device_nodes) {  // a container shows all that its host has
    check.state = State::kWarning;
    check.parts.emplace_back("no /dev/infiniband");
    check.cure =
        "NCCL falls back to sockets: load ib_uverbs, or start the container with "
        "--device=/dev/infiniband --ulimit memlock=-1";
  }
  return check;
}

Check judge_clock(const Clock& clock) {
  if (!clock.synchronised) {
    return {State::kAbsent,
            "clock",
            {"not synchronised", "install chrony before a job on several nodes"},
            ""};
  }
  Check check{State::kOk, "clock", {"synchronised"}, ""};
  check.parts.push_back("at most " + format_ns(clock.most_error_ns) + " off");
  if (!clock.daemon.empty()) check.parts.push_back(clock.daemon);
  return check;
}

}  // namespace

std::vector<Check> judge_site(const Facts& facts) {
  std::vector<Check> checks;
  if (facts.data) checks.push_back(judge_data(*facts.data));
  checks.push_back(judge_interfaces(facts.network));
  checks.push_back(judge_infiniband(facts.network));
  if (facts.clock) checks.push_back(judge_clock(*facts.clock));
  return checks;
}

}  // namespace redline::doctor
