#include "profiler/nccl/entered_list.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "base/json_values.h"
#include "base/user_switch.h"
#include "profiler/source/run_metadata.h"

namespace redline::nccl {
namespace {

using nlohmann::json;

constexpr size_t kMostListed = 64;  // of a communicator

// "AllReduce" is all_reduce in torch.
std::string torch_name_of(std::string_view function) {
  std::string name;
  for (const char letter : function) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(letter)) != 0;
    if (is_upper && !name.empty()) name += '_';
    name += is_upper ? static_cast<char>(std::tolower(letter)) : letter;
  }
  return name;
}

// All ranks of a communicator know it by the same id.
std::string group_name_of(const Communicator& communicator) {
  const auto* identity = communicator.identity();
  if (identity == nullptr) return "";
  char id[17];
  std::snprintf(id, sizeof(id), "%016llx", static_cast<unsigned long long>(identity->id));
  return identity->name.empty() ? id : identity->name + " " + id;
}

}  // namespace

bool EnteredList::is_wanted() {
  if (user_variable("REDLINE_HANG_TABLES").empty()) return false;
  for (const char* other : {"Py_IsInitialized", "_ZN4c10d20dump_nccl_trace_jsonB5cxx11Ebb"}) {
    if (dlsym(RTLD_DEFAULT, other) != nullptr) return false;
  }
  return true;
}

uint64_t EnteredList::enter(const Event& event) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[event.communicator];
  group.last.push_back({++tickets_, ++group.entered, torch_name_of(event.function), event.count,
                        std::string(event.datatype), profiler::read_clocks().realtime_ns});
  if (group.last.size() > kMostListed) group.last.pop_front();
  return tickets_;
}

void EnteredList::complete(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  for (auto& [communicator, group] : groups_) {
    const auto found = std::ranges::lower_bound(group.last, ticket, {}, &Entered::ticket);
    if (found == group.last.end() || found->ticket != ticket) continue;
    found->is_done = true;
    return;
  }
}

void EnteredList::forget(const Communicator& communicator) {
  const std::lock_guard lock(mutex_);
  groups_.erase(&communicator);
}

void EnteredList::tell(profiler::TakeText take, void* context) noexcept {
  try {
    json groups = json::array();
    json collectives = json::array();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [communicator, group] : groups_) {
        const std::string name = group_name_of(*communicator);
        groups.push_back({{"name", name}, {"entered", group.entered}});
        for (const Entered& each : group.last) {
          collectives.push_back({{"group", name},
                                 {"sequence", each.sequence},
                                 {"operation", each.operation},
                                 {"sizes", json::array({json::array({each.count})}).dump()},
                                 {"types", each.type},
                                 {"done", each.is_done},
                                 {"entered_ns", each.entered_ns}});
        }
      }
    }
    const std::string text = json_text(json{{"groups", groups}, {"collectives", collectives}});
    take(text.data(), text.size(), context);
  } catch (...) {  // no memory: the table lacks them
  }
}

}  // namespace redline::nccl
