// The C++ call stack of the calling thread, as return addresses: native_stack.h names them.
#pragma once

#include "profiler/log/record.h"

namespace redline::profiler {

/// The innermost 64 callers, interned by content. LibTorch's unwinder remembers how it passed each
/// address, and so takes a third of libgcc's time; it knows x86 and Arm, elsewhere there is none.
[[nodiscard]] TextId capture_native_stack() noexcept;

}  // namespace redline::profiler
