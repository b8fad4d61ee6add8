// Where a thread of a program in C++ is, for those who want to know why it does not go on.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace redline::watch {

/// The frames of the program's own code, innermost first: "train.cc:31 sync", or without debug
/// information "train sync+0x2c". Left out are those of the system's libraries, of torch and of
/// Redline. Empty if the thread cannot be read (watch/stopped_thread.h), or not within two
/// seconds.
[[nodiscard]] std::vector<std::string> program_stack(pid_t process, pid_t thread);

/// "void job::step<float>(int)" is "job::step", and the call of a lambda "<lambda>".
[[nodiscard]] std::string short_function_name(std::string_view demangled);

}  // namespace redline::watch
