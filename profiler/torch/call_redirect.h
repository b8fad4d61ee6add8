// Sends LibTorch's calls of one of its exported functions to a function of ours.
//
// For what LibTorch tells to one listener a thread only, and that one may be torch.profiler's. A
// call from one function of a library to another, exported one goes through the library's jump slot
// for it, and the slot is what changes here: no code, and of no other library. A LibTorch that was
// linked statically has no such slots.
#pragma once

#include <vector>

namespace redline::profiler {

class CallRedirect {
 public:
  /// `symbol` as the linker has it. The replacement must live for ever: a call may be under way.
  CallRedirect(const char* symbol, void* replacement)
      : symbol_(symbol), replacement_(replacement) {}

  /// False where no library of LibTorch calls the function through a slot. May throw bad_alloc.
  [[nodiscard]] bool enable();
  void disable() noexcept;

 private:
  struct Slot {
    void** address;
    void* original;
    bool read_only;  ///< made so by the dynamic linker (RELRO)
  };
  static void write(const Slot& slot, void* value) noexcept;

  const char* symbol_;
  void* replacement_;
  std::vector<Slot> slots_;
};

/// Allocations and releases of tensors, on every thread and device, as a source of the recorder.
/// LibTorch's allocators report them by calls that are redirected. May be called again.
void attach_torch_memory();

}  // namespace redline::profiler
