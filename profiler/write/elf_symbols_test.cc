// Names of functions in a program's file: files made by hand, whole and damaged in each of the ways
// that matter.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/write/native_stack.h"
#include "tests/temporary_folder.h"

namespace redline::profiler {
namespace {

/// A file with a note, two loaded segments, and three sections: an empty one, symbols, and their
/// names.
struct MadeUpElf {
  Elf64_Ehdr header = {};
  Elf64_Phdr segments[3] = {};
  Elf64_Shdr sections[3] = {};
  std::vector<Elf64_Sym> symbols;
  std::string names = std::string("\0late\0early\0object\0nowhere\0", 27);

  MadeUpElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phnum = 3;
    header.e_shnum = 3;
    segments[0].p_type = PT_NOTE;
    segments[1].p_type = segments[2].p_type = PT_LOAD;
    segments[0].p_vaddr = 0x900000;
    segments[1].p_vaddr = 0x400123;  // loaded from the page's begin on
    segments[2].p_vaddr = 0x700000;
    add(1, STT_FUNC, 0x400200, 0x20);
    add(6, STT_FUNC, 0x400100, 0x10);
    add(12, STT_OBJECT, 0x400300, 0x10);
    add(19, STT_FUNC, 0, 0x10);          // is in another file
    add(9'999, STT_FUNC, 0x400400, 16);  // a name beyond the names
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
  }

  void add(uint32_t name, unsigned char type, uint64_t address, uint64_t size) {
    Elf64_Sym symbol = {};
    symbol.st_name = name;
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_LOCAL, type));
    symbol.st_value = address;
    symbol.st_size = size;
    symbols.push_back(symbol);
  }

  [[nodiscard]] std::string bytes() const {
    MadeUpElf all = *this;
    all.header.e_phoff = sizeof(header);
    all.header.e_shoff = all.header.e_phoff + sizeof(segments);
    all.sections[1].sh_offset = all.header.e_shoff + sizeof(sections);
    all.sections[1].sh_size = symbols.size() * sizeof(Elf64_Sym);
    all.sections[2].sh_offset = all.sections[1].sh_offset + all.sections[1].sh_size;
    if (all.sections[2].sh_size == 0) all.sections[2].sh_size = names.size();
    const auto raw = [](const auto* first, size_t size) {
      return std::string(reinterpret_cast<const char*>(first), size);
    };
    return raw(&all.header, sizeof(header)) + raw(all.segments, sizeof(segments)) +
           raw(all.sections, sizeof(sections)) + raw(symbols.data(), all.sections[1].sh_size) +
           names;
  }
};

class ElfFiles : public ::testing::Test {
 protected:
  [[nodiscard]] std::string name_at(const std::string& bytes, uint64_t offset,
                                    uintmax_t file_size = 0) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    if (file_size > 0) std::filesystem::resize_file(path_, file_size);
    ElfSymbols symbols;
    const char* name = symbols.find(path_, offset);
    return name != nullptr ? name : "none";
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "made_up.so";
};

TEST_F(ElfFiles, EachFunctionIsFoundFromItsFirstByteToItsLast) {
  const std::string file = MadeUpElf().bytes();
  const std::pair<uint64_t, const char*> rows[] = {
      {0x0, "none"},   {0xFF, "none"},  {0x100, "early"}, {0x10F, "early"},
      {0x110, "none"}, {0x1FF, "none"}, {0x200, "late"},  {0x21F, "late"},
      {0x220, "none"}, {0x300, "none"}, {0x400, "none"},  {0x100100, "none"}};
  for (const auto& [offset, name] : rows) EXPECT_EQ(name_at(file, offset), name) << offset;
}

TEST_F(ElfFiles, AFileIsReadOnce) {
  std::ofstream(path_, std::ios::binary) << MadeUpElf().bytes();
  ElfSymbols symbols;
  const char* name = symbols.find(path_, 0x100);
  std::filesystem::remove(path_);
  EXPECT_STREQ(symbols.find(path_, 0x100), "early");
  EXPECT_EQ(symbols.find(path_, 0x100), name) << "it stays where it is";
}

TEST_F(ElfFiles, OfAFileThatCannotBeReadNoFunctionIsFound) {
  const auto damaged = [&](const auto& change) {
    MadeUpElf elf;
    change(elf);
    return name_at(elf.bytes(), 0x100);
  };
  EXPECT_EQ(damaged([](MadeUpElf&) {}), "early");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.header.e_ident[3] = 'G'; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.header.e_ident[EI_CLASS] = ELFCLASS32; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.header.e_shnum = 1; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.sections[1].sh_link = 3; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.names.back() = 'x'; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.sections[2].sh_size = 1'000; }), "none");
  EXPECT_EQ(damaged([](MadeUpElf& elf) { elf.segments[1].p_type = PT_NOTE; }), "none")
      << "the other segment begins elsewhere";
  const std::string whole = MadeUpElf().bytes();
  for (size_t length = 0; length < whole.size(); length += 16) {
    EXPECT_EQ(name_at(whole.substr(0, length), 0x100), "none") << length << " bytes";
  }
  EXPECT_EQ(name_at(whole.substr(0, whole.size() - 1), 0x100), "none");
}

TEST_F(ElfFiles, NamesThatAreTooManyToBeReadWhileAJobRunsAreNotRead) {
  constexpr uint64_t kMost = 64 << 20;
  for (const uint64_t size : {kMost, kMost + 1}) {
    MadeUpElf elf;
    elf.sections[2].sh_size = size;
    EXPECT_EQ(name_at(elf.bytes(), 0x100, kMost + 4096), size == kMost ? "early" : "none");
  }
}

}  // namespace
}  // namespace redline::profiler
