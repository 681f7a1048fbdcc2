#include "host/new_plugin/plugin_project.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "framework/formats/nearest_name.h"
#include "framework/formats/strings.h"

// The assembler embeds the files. This needs no generated source, and an installed host needs no files.
#define TENON_EMBED(name, file)                                                   \
  asm(".pushsection .rodata\n"                                                    \
      ".globl tenon_" #name "_begin\n.hidden tenon_" #name "_begin\ntenon_" #name \
      "_begin:\n"                                                                 \
      ".incbin \"" TENON_TEMPLATES "/" file                                       \
      "\"\n"                                                                      \
      ".globl tenon_" #name "_end\n.hidden tenon_" #name "_end\ntenon_" #name     \
      "_end:\n"                                                                   \
      ".popsection\n");                                                           \
  extern "C" {                                                                    \
  extern const char tenon_##name##_begin[] __attribute__((visibility("hidden"))); \
  extern const char tenon_##name##_end[] __attribute__((visibility("hidden")));   \
  }
#define TENON_EMBED_KIND(kind)             \
  TENON_EMBED(kind##_source, #kind ".cpp") \
  TENON_EMBED(kind##_run_file, #kind ".toml")
TENON_EMBED(cmake_lists, "CMakeLists.txt")
TENON_EMBED_KIND(dataset)
TENON_EMBED_KIND(model)
TENON_EMBED_KIND(loss)
TENON_EMBED_KIND(metric)
TENON_EMBED_KIND(callback)
#define TENON_EMBEDDED(name) \
  std::string_view(tenon_##name##_begin, static_cast<size_t>(tenon_##name##_end - tenon_##name##_begin))
#define TENON_TEMPLATE(kind)                                                                        \
  {                                                                                                 \
    config::ComponentKind::kind, { TENON_EMBEDDED(kind##_source), TENON_EMBEDDED(kind##_run_file) } \
  }

namespace tenon::host {

namespace {

// Both use the name `my_name` and the class `MyName`.
struct PluginTemplate {
  std::string_view source;    // C++
  std::string_view run_file;  // uses the component with bundled ones
};

// Targets of CMake and of its generators.
constexpr std::array<std::string_view, 11> kReservedTargets = {
    "all",     "clean",          "depend",     "edit_cache",    "help", "install",
    "package", "package_source", "preinstall", "rebuild_cache", "test"};

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
char to_upper(char letter) { return is_lower(letter) ? static_cast<char>(letter - 'a' + 'A') : letter; }
char to_lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

// Returns "my_loss" for "My-loss", or "" if nothing is left.
std::string make_valid(const std::string& name) {
  std::string valid;
  for (const char letter : name) {
    const char lower = to_lower(letter);
    if (is_lower(lower) || (is_digit(lower) && !valid.empty())) valid += lower;
    if (!valid.empty() && valid.back() != '_' && (letter == '-' || letter == '_' || letter == ' ' || letter == '.'))
      valid += '_';
  }
  return valid;
}

std::string fill_in(std::string_view text, const std::string& name) {
  const std::string filled = formats::replace_all(std::string(text), "MyName", make_class_name(name));
  return formats::replace_all(filled, "my_name", name);
}

}  // namespace

std::optional<NameFault> find_plugin_name_fault(const std::string& name) {
  const bool has_valid_letters =
      std::ranges::all_of(name, [](char letter) { return is_lower(letter) || is_digit(letter) || letter == '_'; });
  if (name.empty() || !has_valid_letters || !is_lower(name.front())) {
    const std::string valid = make_valid(name);
    return NameFault{"is no name of a plugin" + (valid.empty() ? "" : formats::did_you_mean(valid)),
                     "lower-case letters, digits and _, beginning with a letter"};
  }
  if (std::ranges::find(kReservedTargets, name) != kReservedTargets.end())
    return NameFault{"is a target of CMake", "another name, such as " + name + "_plugin"};
  return std::nullopt;
}

std::string make_class_name(const std::string& name) {
  std::string class_name;
  bool is_start = true;
  for (const char letter : name) {
    if (letter != '_') class_name += is_start ? to_upper(letter) : letter;
    is_start = letter == '_';
  }
  return class_name;
}

std::map<std::string, std::string> make_plugin_project(const std::string& name, config::ComponentKind kind) {
  static const std::map<config::ComponentKind, PluginTemplate> templates = {
      TENON_TEMPLATE(dataset), TENON_TEMPLATE(model), TENON_TEMPLATE(loss), TENON_TEMPLATE(metric),
      TENON_TEMPLATE(callback)};
  const PluginTemplate& files = templates.at(kind);
  return {{"CMakeLists.txt", fill_in(TENON_EMBEDDED(cmake_lists), name)},
          {name + ".cpp", fill_in(files.source, name)},
          {name + ".toml", fill_in(files.run_file, name)}};
}

}  // namespace tenon::host
