// The note in a plugin's file: its description as JSON. `host note` writes it and listings read it. Its storage in the
// file: elf_image.h. Its purpose and how it may change: docs/decisions/0007-elf-note.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "framework/components/calls/component.h"

namespace tenon::components {

// Returns compact JSON in one line. Throws std::invalid_argument for a description that parse_note would refuse: texts
// with control characters, or more than a note can hold.
std::string make_note(const PluginDescription& description);

// Checks everything in the note, because the file is not trusted: size, nesting, UTF-8, types, ids and schemas. Texts
// must not hold control characters, which could rewrite the terminal's contents. Unknown keys are ignored. Returns none
// if the format is newer than this host reads. Throws Error(plugin) with the file, the location in the note, what was
// found and what to do.
std::optional<PluginDescription> parse_note(const std::filesystem::path& file, const std::string& note);

// Throws Error(plugin) with the file and the first difference between the two.
void require_same(const std::filesystem::path& file, const PluginDescription& note, const PluginDescription& plugin);

// Of a text in the tables or the note of a plugin.
inline constexpr size_t kMaxTextLength = 1 << 16;  // bytes

// Whether the text is an id: lower-case letters, digits, _ or -, beginning with a letter. Ids appear in run files,
// folder names and messages, so they need no quoting anywhere.
bool is_id(std::string_view text);

// The first control character of a UTF-8 text, such as "U+001B"; none if there is none. Line feed and tab are allowed.
// U+0080 to U+009F are not, because terminals interpret them.
std::optional<std::string> find_control_character(std::string_view text);

}  // namespace tenon::components
