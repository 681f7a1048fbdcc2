// The note in a plugin's file: its description as JSON. `host note` writes it and listings read it. Its storage in the
// file: elf_note.h. Its purpose and how it may change: docs/decisions/0007-elf-note.md.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/components/calls/plugin_description.h"

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

}  // namespace tenon::components
