#include "profiler/torch/call_redirect.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace redline::profiler {
namespace {

#if defined(__x86_64__)
constexpr auto kJumpSlot = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr auto kJumpSlot = R_AARCH64_JUMP_SLOT;
#else
#error "which relocation is a jump slot here?"
#endif

bool is_of_libtorch(const char* path) {
  const std::string_view name(path);
  const std::string_view file = name.substr(name.rfind('/') + 1);
  return file.starts_with("libc10") || file.starts_with("libtorch");
}

/// A loaded library's table of calls to exported functions.
struct CallTable {
  const ElfW(Rela) * begin = nullptr;
  size_t count = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  ElfW(Addr) read_only_begin = 0, read_only_end = 0;
};

CallTable call_table(const dl_phdr_info& library) {
  CallTable table;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& segment = library.dlpi_phdr[i];
    const ElfW(Addr) address = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_RELRO) {
      table.read_only_begin = address;
      table.read_only_end = address + segment.p_memsz;
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    for (const auto* tag = reinterpret_cast<const ElfW(Dyn)*>(address); tag->d_tag != DT_NULL;
         ++tag) {
      const auto pointer = tag->d_un.d_ptr;  // the loader has made it absolute
      if (tag->d_tag == DT_JMPREL) table.begin = reinterpret_cast<const ElfW(Rela)*>(pointer);
      if (tag->d_tag == DT_PLTRELSZ) table.count = tag->d_un.d_val / sizeof(ElfW(Rela));
      if (tag->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer);
      if (tag->d_tag == DT_STRTAB) table.names = reinterpret_cast<const char*>(pointer);
    }
  }
  const bool is_whole =
      table.begin != nullptr && table.symbols != nullptr && table.names != nullptr;
  if (!is_whole) table.count = 0;
  return table;
}

struct Found {
  void** address;
  bool read_only;
};

struct Search {
  const char* symbol;
  std::vector<Found> found;
};

int look_into(dl_phdr_info* library, size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  if (!is_of_libtorch(library->dlpi_name)) return 0;
  const CallTable table = call_table(*library);
  for (const auto* call = table.begin; call != table.begin + table.count; ++call) {
    if (ELF64_R_TYPE(call->r_info) != kJumpSlot) continue;
    const auto& symbol = table.symbols[ELF64_R_SYM(call->r_info)];
    if (std::strcmp(table.names + symbol.st_name, search.symbol) != 0) continue;
    const ElfW(Addr) address = library->dlpi_addr + call->r_offset;
    search.found.push_back({reinterpret_cast<void**>(address),
                            table.read_only_begin <= address && address < table.read_only_end});
  }
  return 0;
}

}  // namespace

bool CallRedirect::enable() noexcept try {
  Search search = {symbol_, {}};
  search.found.reserve(16);  // look_into() must not throw: it is called from C
  dl_iterate_phdr(look_into, &search);
  slots_.reserve(search.found.size());
  for (const auto& [address, read_only] : search.found) {
    if (*address == replacement_) continue;
    slots_.push_back({address, *address, read_only});
    write(slots_.back(), replacement_);
  }
  return !slots_.empty();
} catch (...) {
  return false;
}

void CallRedirect::disable() noexcept {
  for (const Slot& slot : slots_) write(slot, slot.original);
  slots_.clear();
}

void CallRedirect::write(const Slot& slot, void* value) noexcept {
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* page =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.address) & ~(page_size - 1));
  if (slot.read_only && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot.address, value, __ATOMIC_RELEASE);
  if (slot.read_only) mprotect(page, page_size, PROT_READ);
}

}  // namespace redline::profiler
