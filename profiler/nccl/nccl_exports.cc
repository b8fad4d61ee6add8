// The tables that NCCL looks for (NCCL_PROFILER_PLUGIN=libredline.so), newest version first.
//
// After init, all functions give NCCL success, and no exception crosses the boundary.
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "profiler/nccl/communicator.h"
#include "profiler/nccl/nccl_plugin.h"

namespace redline::nccl {
namespace {

constexpr int kTypesOfV3 = 0xFF;
constexpr int kTypesOfV5 = 0xFFF;
constexpr int kTypesOfV6 = 0x7FFF;
constexpr int kTypesOfV7 = 0xFFFF;

std::string name_of(const char* name) { return name != nullptr ? name : ""; }

template <typename Body>
int guarded(Body body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    // No memory: the event is not recorded.
  }
  return kSuccess;
}

int begin_communicator(void** context, int* mask, int known,
                       std::optional<Communicator::Identity> identity) noexcept {
  try {
    Communicator& communicator = NcclPlugin::instance().add_communicator(wanted_types(known), mask);
    if (identity) communicator.identify(std::move(*identity));
    *context = &communicator;
    return kSuccess;
  } catch (const std::exception&) {
    return kSystemError;  // NCCL goes on without us
  }
}

int init_v3(void** context, int* mask) {
  return begin_communicator(context, mask, kTypesOfV3, std::nullopt);
}

int init_v4(void** context, int* mask, const char* name, uint64_t id, int, int ranks, int rank,
            Log) {
  return begin_communicator(context, mask, kTypesOfV3,
                            Communicator::Identity{id, name_of(name), rank, ranks});
}

template <int known>
int init_v5(void** context, uint64_t id, int* mask, const char* name, int, int ranks, int rank,
            Log) {
  return begin_communicator(context, mask, known,
                            Communicator::Identity{id, name_of(name), rank, ranks});
}

/// In v3, only the first collective or transfer tells which communicator this is.
template <typename Descr>
void identify(Communicator& communicator, const Descr& descr) {
  if constexpr (requires { descr.coll.comm_hash; }) {
    if (communicator.identity() != nullptr || (descr.type & (kColl | kP2p)) == 0) return;
    const bool is_coll = descr.type == kColl;
    const char* name = is_coll ? descr.coll.name : descr.p2p.name;
    communicator.identify(
        {is_coll ? descr.coll.comm_hash : descr.p2p.comm_hash, name_of(name), descr.rank, 0});
  }
}

template <typename Descr>
int start_event(void* context, void** handle, Descr* descr) {
  *handle = nullptr;
  if (!NcclPlugin::instance().is_listening()) return kSuccess;
  return guarded([&] {
    auto* communicator = static_cast<Communicator*>(context);
    if (communicator != nullptr) identify(*communicator, *descr);
    Event event = event_of(*descr);
    event.communicator = communicator;
    *handle = reinterpret_cast<void*>(NcclPlugin::instance().begin(event));
  });
}

int stop_event(void* handle) {
  if (handle == nullptr) return kSuccess;
  return guarded([&] { NcclPlugin::instance().end(reinterpret_cast<uint64_t>(handle)); });
}

template <bool with_stamps>
int record_state(void* handle, EventState state, StateArgs* args) {
  if (handle == nullptr) return kSuccess;
  return guarded([&] {
    NcclPlugin::instance().change(reinterpret_cast<uint64_t>(handle), state, args, with_stamps);
  });
}

int finalize(void* context) {
  if (context == nullptr) return kSuccess;
  return guarded(
      [&] { NcclPlugin::instance().end_communicator(*static_cast<Communicator*>(context)); });
}

}  // namespace
}  // namespace redline::nccl

using namespace redline::nccl;

#define REDLINE_NCCL_PLUGIN(init, Descr, with_stamps) \
  { "Redline", init, start_event<Descr>, stop_event, record_state<with_stamps>, finalize }

const PluginV3 ncclProfiler_v3 = REDLINE_NCCL_PLUGIN(init_v3, DescrV3, false);
const PluginV4 ncclProfiler_v4 = REDLINE_NCCL_PLUGIN(init_v4, DescrV4, true);
const PluginV5 ncclProfiler_v5 = REDLINE_NCCL_PLUGIN(init_v5<kTypesOfV5>, DescrV5, true);
const PluginV5 ncclProfiler_v6 = REDLINE_NCCL_PLUGIN(init_v5<kTypesOfV6>, DescrV5, true);
const PluginV5 ncclProfiler_v7 = REDLINE_NCCL_PLUGIN(init_v5<kTypesOfV7>, DescrV5, true);
