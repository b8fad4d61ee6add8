#include "watch/program_stack.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <fmt/format.h>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/demangle.h"
#include "base/quiet_thread.h"
#include "watch/stopped_thread.h"

namespace redline::watch {
namespace {

constexpr auto kMostWait = std::chrono::seconds(2);
constexpr size_t kMostUnwound = 512;
constexpr size_t kMostFrames = 16;

using Session = std::unique_ptr<Dwfl, void (*)(Dwfl*)>;

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_library(std::string_view module) {
  for (const char* folder : {"/lib", "/usr/lib", "["}) {
    if (module.starts_with(folder)) return true;
  }
  const std::string file = last_part(module);
  for (const char* name : {"libtorch", "libc10", "libredline", "libgloo", "libnccl", "libcu",
                           "libnv", "libgomp", "libstdc++"}) {
    if (file.starts_with(name)) return true;
  }
  return false;
}

// What headers of libraries put into the program itself.
bool is_of_header(std::string_view source) {
  return source.starts_with("/usr/include/") || source.find("/include/c++/") != source.npos ||
         source.find("/torch/include/") != source.npos;
}

bool is_of_library(std::string_view function) {
  for (const char* begin : {"std::", "__gnu_cxx::", "at::", "c10::", "c10d::", "torch::", "gloo::",
                            "redline::", "_start"}) {
    if (function.starts_with(begin)) return true;
  }
  return false;
}

// What libdw asks of a thread that it does not hold itself.
struct CopiedThread {
  pid_t process;
  pid_t thread;
  ThreadCopy copy;
};

constexpr Dwfl_Thread_Callbacks kOfCopy = {
    .next_thread =
        [](Dwfl*, void* context, void** is_given) {
          if (*is_given != nullptr) return pid_t{0};
          *is_given = context;
          return static_cast<CopiedThread*>(context)->thread;
        },
    .get_thread = nullptr,
    .memory_read =
        [](Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* context) {
          const auto& from = *static_cast<CopiedThread*>(context);
          const auto read = from.copy.word_at(from.process, address);
          if (read) *word = *read;
          return read.has_value();
        },
    .set_initial_registers =
        [](Dwfl_Thread* thread, void* context) {
          const ThreadCopy& copy = static_cast<CopiedThread*>(context)->copy;
          const auto set = [&](size_t first, size_t count) {
            return dwfl_thread_state_registers(thread, static_cast<int>(first),
                                               static_cast<unsigned>(count),
                                               copy.registers.data() + first);
          };
          if (copy.has_all_registers) return set(0, copy.registers.size());
          return set(kStackRegister, 1) && set(kPlaceRegister, 1);
        },
    .detach = nullptr,
    .thread_detach = nullptr,
};

// A file of its own with debug information would have to be looked for, perhaps in the network.
int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                       GElf_Word, char**) {
  return -1;
}

constexpr Dwfl_Callbacks kFiles = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = find_no_debug_file,
    .section_address = nullptr,
    .debuginfo_path = nullptr,
};

// Innermost first; of the others the instruction of the call.
std::vector<Dwarf_Addr> unwind(Dwfl* session, pid_t thread) {
  std::vector<Dwarf_Addr> places;
  const auto add = [](Dwfl_Frame* frame, void* to) -> int {
    auto& all = *static_cast<std::vector<Dwarf_Addr>*>(to);
    Dwarf_Addr place = 0;
    bool is_exact = false;
    if (!dwfl_frame_pc(frame, &place, &is_exact)) return DWARF_CB_ABORT;
    all.push_back(is_exact ? place : place - 1);
    return all.size() < kMostUnwound ? DWARF_CB_OK : DWARF_CB_ABORT;
  };
  dwfl_getthread_frames(session, thread, add, &places);
  return places;
}

std::string name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  const char* linked =
      dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
  if (linked != nullptr) return short_function_name(demangled(linked));
  const char* name = dwarf_diename(function);
  return name != nullptr ? name : "";
}

std::optional<Dwarf_Word> number_in(Dwarf_Die* entry, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(entry, name, &attribute), &value) != 0) return std::nullopt;
  return value;
}

// Where the function `inlined` was called.
std::pair<std::string, int64_t> call_of(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  const auto file = number_in(inlined, DW_AT_call_file);
  const auto line = number_in(inlined, DW_AT_call_line);
  if (!file || !line || dwarf_getsrcfiles(unit, &files, &count) != 0) return {};
  const char* path = dwarf_filesrc(files, *file, nullptr, nullptr);
  return {path != nullptr ? path : "", static_cast<int64_t>(*line)};
}

// The scopes around `place`, innermost first: blocks, functions that were inlined, the function.
std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr place) {
  Dwarf_Die* found = nullptr;
  int count = dwarf_getscopes(unit, place, &found);
  std::unique_ptr<Dwarf_Die, void (*)(void*)> first(found, std::free);
  const auto is_function = [](Dwarf_Die& scope) {
    const int tag = dwarf_tag(&scope);
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram;
  };
  for (int i = 0; i < count; ++i) {
    if (!is_function(found[i])) continue;
    Dwarf_Die* around = nullptr;  // what `found` goes on with is where it was defined, not called
    count = dwarf_getscopes_die(&found[i], &around);
    const std::unique_ptr<Dwarf_Die, void (*)(void*)> all(around, std::free);
    return {around, around + std::max(count, 0)};
  }
  return {};
}

// By debug information, which knows functions that were inlined. Empty if there is none.
std::vector<std::string> frames_by_lines(Dwfl_Module* module, Dwarf_Addr place) {
  Dwarf_Addr shift = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, place, &shift);
  Dwfl_Line* line = dwfl_module_getsrc(module, place);
  if (unit == nullptr || line == nullptr) return {};
  int number = 0;
  const char* source = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  std::pair<std::string, int64_t> at{source != nullptr ? source : "", number};
  std::vector<std::string> frames;
  for (Dwarf_Die& scope : scopes_at(unit, place - shift)) {
    const int tag = dwarf_tag(&scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    const std::string name = name_of(&scope);
    if (!is_of_header(at.first) && !is_of_library(name)) {
      frames.push_back(fmt::format("{}:{} {}", last_part(at.first), at.second, name));
    }
    if (tag == DW_TAG_subprogram) break;
    at = call_of(unit, &scope);
  }
  return frames;
}

std::vector<std::string> frames_at(Dwfl* session, Dwarf_Addr place) {
  Dwfl_Module* module = dwfl_addrmodule(session, place);
  if (module == nullptr) return {};
  Dwarf_Addr begin = 0;
  const char* path =
      dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (path == nullptr || is_library(path)) return {};
  Dwarf_Addr shift = 0;
  if (dwfl_module_addrdie(module, place, &shift) != nullptr) return frames_by_lines(module, place);
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name =
      dwfl_module_addrinfo(module, place, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr) return {fmt::format("{} +{:#x}", last_part(path), place - begin)};
  const std::string function = short_function_name(demangled(name));
  if (is_of_library(function)) return {};
  return {fmt::format("{} {}+{:#x}", last_part(path), function, offset)};
}

// Its files would be others under the same paths.
bool has_our_files(pid_t process) {
  const auto files_of = [](const std::string& of) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + of + "/ns/mnt", error);
  };
  return files_of("self") == files_of(std::to_string(process));
}

std::vector<std::string> read_stack(pid_t process, pid_t thread) {
  if (!has_our_files(process)) return {};
  auto copy = copy_thread(process, thread);
  if (!copy) return {};
  CopiedThread context{process, thread, *std::move(copy)};
  const Session session(dwfl_begin(&kFiles), dwfl_end);
  if (!session || dwfl_linux_proc_report(session.get(), process) != 0) return {};
  dwfl_report_end(session.get(), nullptr, nullptr);
  if (!dwfl_attach_state(session.get(), nullptr, process, &kOfCopy, &context)) return {};
  std::vector<std::string> frames;
  for (const Dwarf_Addr place : unwind(session.get(), thread)) {
    for (std::string& frame : frames_at(session.get(), place)) {
      if (frames.size() < kMostFrames) frames.push_back(std::move(frame));
    }
  }
  return frames;
}

}  // namespace

std::vector<std::string> program_stack(pid_t process, pid_t thread) {
  // On a thread of its own, because the files may lie on a disk that hangs, too.
  auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  auto stack = promise->get_future();
  auto reader = start_quiet_thread([=] {
    try {
      promise->set_value(read_stack(process, thread));
    } catch (const std::exception&) {  // no memory
      promise->set_value({});
    }
  });
  if (!reader) return {};
  reader->detach();
  if (stack.wait_for(kMostWait) != std::future_status::ready) return {};
  return stack.get();
}

std::string short_function_name(std::string_view demangled) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::", kOperator = "operator",
                             kCall = "operator()", kLambda = "{lambda}";
  std::string name;
  int depth = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    const std::string_view rest = demangled.substr(i);
    const char letter = rest.front();
    if (depth == 0 && rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (depth == 0 && rest.starts_with(kOperator) &&
               (name.empty() || name.ends_with("::"))) {
      const size_t end = rest.find('(', rest.starts_with(kCall) ? kCall.size() : 0);
      name += rest.substr(0, end);
      break;
    } else if (depth == 0 && letter == '(') {
      break;
    } else if (letter == '<' || letter == '(' || letter == '{' || letter == '[') {
      if (depth++ == 0 && rest.starts_with("{lambda")) name += kLambda;
    } else if (letter == '>' || letter == ')' || letter == '}' || letter == ']') {
      --depth;
    } else if (depth == 0) {
      letter == ' ' ? name.clear() : name.push_back(letter);  // behind what it returns
    }
  }
  for (const char* call : {"::operator()", "::_FUN"}) {
    const std::string lambda = std::string(kLambda) + call;
    if (name.ends_with(lambda))
      name.replace(name.size() - lambda.size(), lambda.size(), "<lambda>");
  }
  return name;
}

}  // namespace redline::watch
