// Gives the ids of operators and annotations to CUPTI, and keeps notes on operators by these ids,
// for their kernels.
#include <pthread.h>

#include <exception>

#include "profiler/cupti/cupti_source.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"

namespace redline::cupti {

SharedState& shared_state() {
  static auto* const state = [] {
    auto* made = new SharedState;
    pthread_atfork([] { shared_state().pool.lock_for_fork(); },
                   [] { shared_state().pool.unlock_after_fork(); },
                   [] {
                     shared_state().pool.unlock_after_fork();
                     // A child is not recorded.
                     shared_state().ids = nullptr;
                     shared_state().pops = nullptr;
                   });
    return made;
  }();
  return *state;
}

}  // namespace redline::cupti

namespace redline::profiler {

[[gnu::hot]] bool wants_external_ids() noexcept {
  return cupti::shared_state().ids.load(std::memory_order_acquire) != nullptr;
}

void push_external_id(ExternalIdKind kind, uint64_t id, std::string_view name) noexcept {
  const cupti::Library* library = cupti::shared_state().ids.load(std::memory_order_acquire);
  if (library == nullptr) return;
  const bool is_annotation = kind == ExternalIdKind::kAnnotation;
  try {
    if (is_annotation) cupti::shared_state().annotations.add(static_cast<uint32_t>(id), name);
  } catch (const std::exception&) {
    // No memory for the name: its span is called "(name not kept)".
  }
  static_cast<void>(
      library->push_external_id(is_annotation ? cupti::kAnnotationIds : cupti::kOperatorIds, id));
}

void note_collective(uint64_t id, std::string_view members) noexcept {
  if (!wants_external_ids()) return;
  try {
    cupti::shared_state().collectives.add(static_cast<uint32_t>(id), members);
  } catch (const std::exception&) {
    // No memory: the kernels of the collective lack these facts.
  }
}

void note_collective_choice(uint64_t id, std::string_view algorithm,
                            std::string_view protocol) noexcept {
  if (id == 0 || !wants_external_ids()) return;
  try {
    cupti::shared_state().collectives.add_choice(static_cast<uint32_t>(id), algorithm, protocol);
  } catch (const std::exception&) {
    // No memory: the kernel's name still tells an algorithm.
  }
}

void pop_external_id(ExternalIdKind kind) noexcept {
  const cupti::Library* library = cupti::shared_state().pops.load(std::memory_order_acquire);
  if (library == nullptr) return;
  uint64_t last = 0;
  static_cast<void>(library->pop_external_id(
      kind == ExternalIdKind::kAnnotation ? cupti::kAnnotationIds : cupti::kOperatorIds, &last));
}

}  // namespace redline::profiler
