#include "profiler/write/native_stack.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

namespace redline::profiler {
namespace {

/// A program with this many bytes of symbols has about a million of them.
constexpr uint64_t kMostSymbolBytes = uint64_t{64} << 20;

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}

  template <typename Item>
  [[nodiscard]] std::vector<Item> items(uint64_t offset, uint64_t bytes) {
    if (bytes > kMostSymbolBytes) return {};
    std::vector<Item> items(bytes / sizeof(Item));
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(items.data()),
               static_cast<std::streamsize>(items.size() * sizeof(Item)));
    if (!file_) items.clear();
    return items;
  }

 private:
  std::ifstream file_;
};

std::optional<Elf64_Ehdr> header(Reader& reader) {
  const auto read = reader.items<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  if (read.empty() || std::memcmp(read[0].e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (read[0].e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  return read[0];
}

}  // namespace

ElfSymbols::File ElfSymbols::read(const std::string& path) {
  File file;
  Reader reader(path);
  const auto elf = header(reader);
  if (!elf) return file;
  for (const auto& segment :
       reader.items<Elf64_Phdr>(elf->e_phoff, elf->e_phnum * sizeof(Elf64_Phdr))) {
    if (segment.p_type != PT_LOAD) continue;
    file.base = segment.p_vaddr & ~uint64_t{0xFFF};
    break;
  }
  const auto sections = reader.items<Elf64_Shdr>(elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr));
  const auto table = std::ranges::find(sections, uint32_t{SHT_SYMTAB}, &Elf64_Shdr::sh_type);
  if (table == sections.end() || table->sh_link >= sections.size()) return file;
  const auto names =
      reader.items<char>(sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size);
  if (names.empty() || names.back() != '\0') return file;
  file.names.assign(names.data(), names.size());
  file.functions = reader.items<Elf64_Sym>(table->sh_offset, table->sh_size);
  std::erase_if(file.functions, [&](const Elf64_Sym& symbol) {
    return ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 ||
           symbol.st_name >= file.names.size();
  });
  std::ranges::sort(file.functions, {}, &Elf64_Sym::st_value);
  return file;
}

const char* ElfSymbols::find(const std::string& path, uint64_t offset) {
  auto known = files_.find(path);
  if (known == files_.end()) known = files_.emplace(path, read(path)).first;
  const File& file = known->second;
  const uint64_t address = file.base + offset;
  auto next = std::ranges::upper_bound(file.functions, address, {}, &Elf64_Sym::st_value);
  if (next == file.functions.begin()) return nullptr;
  const Elf64_Sym& symbol = *--next;
  return address < symbol.st_value + symbol.st_size ? file.names.c_str() + symbol.st_name : nullptr;
}

}  // namespace redline::profiler
