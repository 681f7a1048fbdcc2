#include "framework/components/loading/elf_note.h"

#include <elf.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

namespace tenon::components {

namespace {

constexpr std::string_view kOwner("Tenon\0", 6);  // with the terminating NUL, as in every note
constexpr uint32_t kType = 1;

uint64_t padded(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

std::string make_note_section(const std::string& text) {
  const Elf64_Nhdr header{kOwner.size(), static_cast<uint32_t>(text.size()), kType};
  std::string section(reinterpret_cast<const char*>(&header), sizeof header);
  section += kOwner;
  section.resize(sizeof header + padded(kOwner.size()));
  section += text;
  section.resize(padded(section.size()));
  return section;
}

std::optional<std::string> read_note_section(const ElfImage& image) {
  const uint64_t start = sizeof(Elf64_Nhdr) + padded(kOwner.size());
  const auto section = image.read_section(kNoteSection, SHT_NOTE, start + kLargestNote);
  if (!section) return std::nullopt;
  Elf64_Nhdr header{};
  if (section->size() >= start) std::memcpy(&header, section->data(), sizeof header);
  if (header.n_namesz != kOwner.size() || header.n_type != kType ||
      section->compare(sizeof header, kOwner.size(), kOwner) != 0 || section->size() != start + padded(header.n_descsz))
    throw std::invalid_argument(std::string("is damaged: its section ") + kNoteSection +
                                " does not hold a note of Tenon");
  return section->substr(start, header.n_descsz);
}

}  // namespace tenon::components
