// The last collectives of each communicator, so that the launcher can say who holds a hanging job
// up. It is for programs whose collectives torch does not list: those that call NCCL themselves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "profiler/nccl/communicator.h"
#include "profiler/nccl/nccl_event.h"
#include "profiler/source/entered_collectives.h"

namespace redline::nccl {

/// May be called from any thread.
class EnteredList final : public profiler::EnteredCollectives {
 public:
  /// Whether the launcher wants to know, and torch does not tell it.
  [[nodiscard]] static bool is_wanted();

  /// The rank enters a collective, which gets the next number of its communicator: all ranks call
  /// those of a communicator in one order. Gives a ticket, which is not 0.
  [[nodiscard]] uint64_t enter(const Event& event);
  /// The collective is over on this rank.
  void complete(uint64_t ticket);
  /// It has ended, so nobody waits in it.
  void forget(const Communicator& communicator);

  void tell(profiler::TakeText take, void* context) noexcept override;
  int64_t count_operators(bool) noexcept override { return 0; }

 private:
  struct Entered {
    uint64_t ticket = 0;
    int64_t sequence = 0;
    std::string operation;  ///< "all_reduce"
    uint64_t count = 0;     ///< of elements
    std::string type;
    int64_t entered_ns = 0;  ///< unix time
    bool is_done = false;
  };
  struct Group {
    int64_t entered = 0;
    std::deque<Entered> last;
  };

  std::mutex mutex_;
  uint64_t tickets_ = 0;
  std::map<const Communicator*, Group> groups_;
};

}  // namespace redline::nccl
