// Sends LibTorch's calls of one of its exported functions to a function of ours.
//
// LibTorch tells some things to only one listener per thread, and torch.profiler may be that
// listener. So we take such calls on their way. When a library calls an exported function, the call
// goes through the library's jump slot for that function. We change these slots of LibTorch's
// libraries, but no code and no other library. A statically linked LibTorch has no such slots.
#pragma once

#include <vector>

namespace redline::profiler {

class CallRedirect {
 public:
  /// `symbol` is the linker's name of the function. The replacement must never go away, because a
  /// call of it may run at any time.
  CallRedirect(const char* symbol, void* replacement)
      : symbol_(symbol), replacement_(replacement) {}

  /// False if no library of LibTorch calls the function through a slot, or there is no memory.
  [[nodiscard]] bool enable() noexcept;
  void disable() noexcept;
  /// Where the calls went before; null unless enabled.
  [[nodiscard]] void* original() const {
    return slots_.empty() ? nullptr : slots_.front().original;
  }

 private:
  struct Slot {
    void** address;
    void* original;
    bool read_only;  ///< the dynamic linker has made the slot read-only (RELRO)
  };
  static void write(const Slot& slot, void* value) noexcept;

  const char* symbol_;
  void* replacement_;
  std::vector<Slot> slots_;
};

}  // namespace redline::profiler
