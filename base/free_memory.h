// Emptying a container so that its memory is free again.
#pragma once

namespace redline {

/// `container = {}` would keep the memory of a std::vector: it assigns an empty list.
template <typename Container>
void free_memory(Container& container) {
  container = Container();
}

}  // namespace redline
