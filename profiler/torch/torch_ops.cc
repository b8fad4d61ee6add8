// LibTorch's operators, backward functions and user scopes as a source of the recorder.
//
// A global callback sees all threads, also those of autograd, and needs no thread-local profiler
// state of LibTorch. No exception may leave a callback.
#include "profiler/torch/torch_ops.h"

#include <ATen/record_function.h>
#include <torch/version.h>

#include <atomic>
#include <memory>
#include <new>
#include <unordered_set>
#include <utility>

#include "profiler/log/per_thread.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/interpreter.h"
#include "profiler/source/source.h"
#include "profiler/torch/attach.h"
#include "profiler/torch/operator_args.h"

namespace redline::profiler {
namespace {

/// Memory for open operators. Each thread reuses its memory, so that recording an operator
/// allocates nothing. An operator may end on another thread than it began: a thread that ends more
/// of them than it begins keeps only as much as operators lie within each other.
struct FreeContext {
  FreeContext* next;
};
struct ContextMemory {
  FreeContext* top = nullptr;
  uint32_t count = 0;
  bool closes = false;  ///< when the thread ends
  bool closed = false;
};
constexpr uint32_t kMostFree = 64;
REDLINE_THREAD_LOCAL ContextMemory t_memory;

FreeContext* pop_context() {
  FreeContext* memory = t_memory.top;
  if (memory == nullptr) return nullptr;
  t_memory.top = memory->next;
  --t_memory.count;
  return memory;
}

constexpr std::align_val_t kCacheLine{64};

void free_context(void* memory) { ::operator delete(memory, kCacheLine); }

struct CloseAtThreadEnd {
  ~CloseAtThreadEnd() {
    t_memory.closed = true;
    while (void* memory = pop_context()) free_context(memory);
  }
};

void close_at_thread_end() {
  [[maybe_unused]] thread_local const CloseAtThreadEnd close;
  t_memory.closes = true;
}

void push_context(void* memory) {
  if (!t_memory.closes) close_at_thread_end();
  t_memory.top = new (memory) FreeContext{t_memory.top};
  ++t_memory.count;
}

struct OpenOperator final : at::ObserverContext {
  static void* operator new(size_t size) {
    void* memory = pop_context();
    return memory != nullptr ? memory : ::operator new(size, kCacheLine);
  }
  static void operator delete(void* memory) {
    // An operator may end while the thread ends.
    if (t_memory.closed || t_memory.count == kMostFree) return free_context(memory);
    push_context(memory);
  }

  int64_t begin_ns = 0;
  BegunSlice begun;
  TextId args;
  TextId stack;
  bool is_outermost = false;  ///< no operator with a stack is around it on this thread
  bool has_external_id = false;
};

/// RecordFunction::needsInputs() does not tell what our options are, because another observer may
/// have asked for inputs.
std::atomic<bool> g_record_shapes = false;
std::atomic<bool> g_with_flops = false;
std::atomic<bool> g_with_stack = false;         ///< TorchScript's stacks
std::atomic<bool> g_with_modules = false;       ///< TorchScript's modules
std::atomic<bool> g_with_native_stack = false;  ///< C++ stacks

/// Operators within an operator get the C++ stack of the outermost one, because only LibTorch's own
/// frames lie in between. They are recognised by their frame, which is deeper in the thread's
/// stack: if the outermost operator ends on another thread, this variable is left behind.
struct OutermostOperator {
  TextId stack;
  const void* frame = nullptr;
};
REDLINE_THREAD_LOCAL OutermostOperator t_outermost;

bool wants_inputs(const at::RecordFunction& function) {
  return g_record_shapes.load(std::memory_order_relaxed) && function.needsInputs();
}

void append(std::string& members, std::string_view more) {
  if (!members.empty() && !more.empty()) members += ", ";
  members += more;
}

std::string inputs_and_flops(const at::RecordFunction& function) {
  std::string members = describe_inputs(function);
  append(members, named_inputs());
  if (g_with_flops.load(std::memory_order_relaxed)) append(members, describe_flops(function));
  return members;
}

/// The description of inputs and operations; one that was made before is found by its key.
TextId describe_again(const at::RecordFunction& function) {
  const uint64_t key = key_of_inputs(function);
  if (const TextId known = known_args(key)) return known;
  const std::string members = inputs_and_flops(function);
  if (members.empty()) return {};
  return key != 0 ? intern_args_as(key, members) : intern_args(members);
}

TextId describe(const at::RecordFunction& function) {
  try {
    std::string members = function.isNcclMeta() ? describe_collective(function) : "";
    if (!members.empty()) note_collective(function.handle(), members);
    append(members, describe_script(function, g_with_stack, g_with_modules));
    if (wants_inputs(function)) {
      if (members.empty()) return describe_again(function);
      append(members, inputs_and_flops(function));
    }
    return members.empty() ? TextId() : intern_args(members);
  } catch (...) {
    return {};  // the operator is recorded without "args"
  }
}

bool wants_description(const at::RecordFunction& function) {
  return wants_inputs(function) || function.isNcclMeta() ||
         g_with_stack.load(std::memory_order_relaxed) ||
         g_with_modules.load(std::memory_order_relaxed);
}

void keep_native_stack(const at::RecordFunction& function, OpenOperator& open) {
  if (!g_with_native_stack.load(std::memory_order_relaxed)) return;
  const void* frame = __builtin_frame_address(0);
  if (t_outermost.stack && frame < t_outermost.frame) {
    open.stack = t_outermost.stack;
    return;
  }
  open.stack = capture_native_stack();
  // A user's scope holds code of the user, so the operators in it have other stacks.
  if (function.scope() == at::RecordScope::USER_SCOPE) return;
  open.is_outermost = true;
  t_outermost = {open.stack, frame};
}

Autograd autograd_of(const at::RecordFunction& function) {
  if (function.seqNr() < 0) return Autograd::kNone;
  return function.forwardThreadId() == 0 ? Autograd::kForward : Autograd::kBackward;
}

RecordKind kind_of(const at::RecordFunction& function) {
  return function.scope() == at::RecordScope::USER_SCOPE ? RecordKind::kAnnotation
                                                         : RecordKind::kOperator;
}

ExternalIdKind id_kind(const at::RecordFunction& function) {
  return function.scope() == at::RecordScope::USER_SCOPE ? ExternalIdKind::kAnnotation
                                                         : ExternalIdKind::kOperator;
}

/// From now on CUPTI gives the operator's number with the GPU work that is launched. Leaves out
/// asynchronous operators, because they may end on another thread.
void push_id(const at::RecordFunction& function, OpenOperator& open) {
  if (!wants_external_ids() || function.isAsync() || function.handle() == 0) return;
  push_external_id(id_kind(function), function.handle(), function.name());
  open.has_external_id = true;
}

[[gnu::hot]] std::unique_ptr<at::ObserverContext> on_begin(
    const at::RecordFunction& function) noexcept {
  if (!is_recording()) return nullptr;
  try {
    auto open = std::make_unique<OpenOperator>();
    open->begin_ns = monotonic_ns();
    if (wants_description(function)) open->args = describe(function);
    keep_native_stack(function, *open);
    open->begun = begin_slice(open->begin_ns, kind_of(function), function.name(), open->args,
                              function.handle());
    push_id(function, *open);
    return open;
  } catch (...) {
    return nullptr;
  }
}

/// Whether so much time has passed that the text table may have forgotten the operator's name.
bool may_have_outlived_its_name(const Record& record) {
  constexpr int64_t kLongNs = 10'000'000;  // less than a round of the writer thread
  return record.of.op.end_ns - record.begin_ns > kLongNs;
}

void submit_stack(const OpenOperator& open) {
  Record record;
  record.kind = RecordKind::kStack;
  record.begin_ns = open.begin_ns;
  record.of.op.args = open.stack;
  submit(record);
}

[[gnu::hot]] void on_end(const at::RecordFunction& function,
                         at::ObserverContext* context) noexcept {
  if (context == nullptr) return;
  const auto& open = static_cast<const OpenOperator&>(*context);
  if (open.is_outermost) t_outermost = {};
  if (open.has_external_id) pop_external_id(id_kind(function));
  if (!is_recording()) return drop_slice(open.begun.slice);
  if (open.stack) submit_stack(open);
  const uint64_t forward_thread = function.forwardThreadId();
  Record record;
  record.begin_ns = open.begin_ns;
  record.of.op.end_ns = monotonic_ns();
  record.of.op.sequence_number = function.seqNr();
  record.of.op.function_id = function.handle();
  record.of.op.args = open.args;
  record.of.op.autograd_thread =
      static_cast<uint32_t>(forward_thread > 0 ? forward_thread : function.threadId());
  record.name = may_have_outlived_its_name(record) ? intern_name(function.name()) : open.begun.name;
  record.kind = kind_of(function);
  record.autograd = autograd_of(function);
  end_slice(open.begun.slice, record);
}

/// The scopes that training uses. LibTorch prepares the callbacks of each scope again for each
/// function of a backward pass, so more scopes would cost time. The others are about builds, mobile
/// and static runtimes.
const std::unordered_set<at::RecordScope> kScopes = {
    at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
    at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::CUSTOM_CLASS,
    at::RecordScope::USER_SCOPE};

/// The scopes that are left if operators are not recorded.
const std::unordered_set<at::RecordScope> kAnnotationScopes = {at::RecordScope::USER_SCOPE};

/// Puts "torch" into the trace of the window that is prepared now, for a program without Python.
/// Only the version is told, because settings may still change before main(). In a Python process,
/// python/redline/_torch_settings.py tells version and settings.
void add_torch_settings() {
  if (has_interpreter()) return;
  add_entry("torch_version", "\"" TORCH_VERSION "\"");
  add_entry("torch", "{\"version\": \"" TORCH_VERSION "\"}");
}

class TorchOperators final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override {
    g_record_shapes = options.record_shapes;
    g_with_flops = options.with_flops;
    g_with_stack = options.with_stack;
    g_with_modules = options.with_modules;
    // In a Python process the interpreter's frames tell more (python_frames.h).
    g_with_native_stack = options.with_stack && !has_interpreter();
    add_torch_settings();
    try {
      auto callback = at::RecordFunctionCallback(on_begin, on_end);
      callback.needsInputs(options.record_shapes)
          .scopes(options.record_cpu ? kScopes : kAnnotationScopes);
      // The job may begin to use CUDA within the window, and ids cannot be asked for later.
      callback.needsIds(options.record_gpu && has_cuda_driver());
      handle_ = at::addGlobalCallback(callback);
    } catch (...) {
      handle_ = at::INVALID_CALLBACK_HANDLE;
    }
  }

  void disable() noexcept override {
    if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
    try {
      at::removeCallback(handle_);
    } catch (...) {
    }
    handle_ = at::INVALID_CALLBACK_HANDLE;
  }

 private:
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

std::unique_ptr<at::ObserverContext> on_user_scope(const at::RecordFunction& function) noexcept {
  see_marker(function.name());
  return nullptr;
}

/// User scopes (record_function, RECORD_USER_SCOPE) as step markers, also outside windows.
class TorchMarkers final : public MarkerSource {
 public:
  void watch_markers() noexcept override {
    if (std::exchange(is_watching_, true)) return;
    try {
      at::addGlobalCallback(
          at::RecordFunctionCallback(on_user_scope).scopes({at::RecordScope::USER_SCOPE}));
    } catch (...) {
      // No memory: only other kinds of markers work.
    }
  }

 private:
  bool is_watching_ = false;
};

}  // namespace
}  // namespace redline::profiler

int redline_torch_attach(void) {
  static redline::profiler::TorchOperators operators;
  redline::profiler::add_source(&operators);
  redline::profiler::attach_torch_memory();
  redline::profiler::keep_callbacks();
  redline::profiler::watch_torch_profiler();
  static redline::profiler::TorchMarkers markers;
  redline::profiler::add_marker_source(&markers);
  redline::profiler::attach_flight_recorder_list();
  return 0;
}

namespace {
__attribute__((constructor)) void attach_on_load() { redline_torch_attach(); }
}  // namespace
