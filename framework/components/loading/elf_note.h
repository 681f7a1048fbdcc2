// The storage of a plugin's note in its file. The section .note.tenon holds one note with the owner "Tenon", type 1 and
// text as content. The format of notes: System V ABI, chapter 5 (gabi.xinuos.com). The loader ignores the note.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/components/loading/elf_image.h"

namespace tenon::components {

inline constexpr const char* kNoteSection = ".note.tenon";
inline constexpr uint64_t kLargestNote = uint64_t{4} << 20;  // bytes of text, far more than any description has

// Returns the bytes of the section.
std::string make_note_section(const std::string& text);

// Returns the text of the note; none without such a section. Throws std::invalid_argument with the finding if the
// section is damaged or not unique.
std::optional<std::string> read_note_section(const ElfImage& image);

}  // namespace tenon::components
