// The note in a plugin's file: its description as JSON, which `host note` puts there and listings read. How it lies in
// the file: elf_note.h. docs/decisions/0007-a-note-in-the-file.md says why it is there and how it may grow.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/plugins/plugin_description.h"

namespace tenon::plugins {

// Compact JSON of one line. Throws std::invalid_argument for a description that parse_note would not take back: texts
// with control characters in them, or more than a note can hold.
std::string make_note(const PluginDescription& description);

// Whoever made the file may have made up the note, so that everything in it is checked: its size, nesting, UTF-8,
// types, ids and schemas, and that no text holds control characters, which could rewrite what a terminal shows. What it
// says of things that this host does not know is passed by. None if its format is a later one than this host reads.
// Throws Error(plugin) naming the file, the place in the note, what was found and the way out.
std::optional<PluginDescription> parse_note(const std::filesystem::path& file, const std::string& note);

// Throws Error(plugin) naming the file and the first thing that the two say differently.
void require_same(const std::filesystem::path& file, const PluginDescription& note, const PluginDescription& plugin);

}  // namespace tenon::plugins
