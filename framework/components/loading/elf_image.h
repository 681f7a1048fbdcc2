// Reads a shared library without mapping or running it. Every offset, count and address is checked before it is used:
// the file may be truncated, damaged or malicious.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::components {

// The format: System V ABI, chapters 4 and 5 (gabi.xinuos.com); DT_GNU_HASH: as binutils writes it and glibc reads it.
// It is read as the loader does, through the program headers and the dynamic section. Section headers may be stripped.
class ElfImage {
 public:
  // Reads the headers of an open regular file, which must stay open. Throws std::invalid_argument with the finding if
  // the file is not a complete 64-bit little-endian shared library for this machine.
  ElfImage(int descriptor, uint64_t size);

  std::vector<std::string> needed() const;  // DT_NEEDED, in order

  // Whether other libraries and dlsym can call this function. Throws std::invalid_argument for damaged tables, as
  // needed() does.
  bool exports_function(std::string_view name) const;

  // The contents of the section with this name and type; none without such a section, for example if the section
  // headers were stripped. Throws std::invalid_argument if it is larger than `largest` bytes, truncated or not unique.
  std::optional<std::string> read_section(std::string_view name, uint32_t type, uint64_t largest) const;

 private:
  void read_header();
  void read_segments();
  void check_section_headers() const;
  void read_dynamic_section(const Elf64_Phdr& dynamic);
  void add_dynamic_entry(const Elf64_Dyn& entry);

  // Throws std::invalid_argument unless the whole range is in the file.
  void read_at(uint64_t offset, void* to, uint64_t count) const;
  // The file offset of the `count` bytes that the loader maps at this address.
  uint64_t offset_of(uint64_t address, uint64_t count) const;
  template <class T>
  T load(uint64_t address) const;

  bool find_by_gnu_hash(std::string_view name) const;
  bool find_by_hash(std::string_view name) const;
  bool is_exported_function(uint32_t index, std::string_view name) const;
  std::string string_at(uint64_t offset) const;
  std::vector<Elf64_Shdr> read_section_headers() const;
  bool is_named(const Elf64_Shdr& section, const Elf64_Shdr& names, std::string_view name) const;

  int descriptor_;
  uint64_t size_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loaded_;        // PT_LOAD, each within the file
  std::vector<uint64_t> needed_;          // offsets into the strings
  std::optional<uint64_t> string_table_;  // its file offset, set after the dynamic section is read
  uint64_t string_bytes_ = 0;
  std::optional<uint64_t> symbol_table_;  // an address, like the next two
  std::optional<uint64_t> hash_table_;
  std::optional<uint64_t> gnu_hash_table_;
};

std::string this_machine();  // "x86-64"

// A plugin's note is stored in the section .note.tenon, which holds one note with the owner "Tenon", type 1 and text as
// content. The format of notes: System V ABI, chapter 5 (gabi.xinuos.com). The loader ignores the note.
inline constexpr const char* kNoteSection = ".note.tenon";
inline constexpr uint64_t kLargestNote = uint64_t{4} << 20;  // bytes of text, far more than any description has

// Returns the bytes of the section.
std::string make_note_section(const std::string& text);

// Returns the text of the note; none without such a section. Throws std::invalid_argument with the finding if the
// section is damaged or not unique.
std::optional<std::string> read_note_section(const ElfImage& image);

}  // namespace tenon::components
