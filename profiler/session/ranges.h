// User ranges of the calling thread.
#pragma once

#include <string_view>

namespace redline::profiler {

void push_range(std::string_view name);
void pop_range();

}  // namespace redline::profiler
