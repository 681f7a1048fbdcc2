// How the note of a plugin lies in its file: the section .note.tenon holds one note of the owner "Tenon", type 1, whose
// content is text. The form of notes: System V ABI, chapter 5 (gabi.xinuos.com). The loader does not look at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/plugins/elf_image.h"

namespace tenon::plugins {

inline constexpr const char* kNoteSection = ".note.tenon";
inline constexpr uint64_t kLargestNote = uint64_t{4} << 20;  // bytes of text: far more than any description has

// The bytes of the section.
std::string make_note_section(const std::string& text);

// The text in it; none without such a section. Throws std::invalid_argument saying what was found if it is damaged or
// not alone of its name.
std::optional<std::string> read_note_section(const ElfImage& image);

}  // namespace tenon::plugins
