#include "host/new_plugin/template_files.h"

#include <cstddef>
#include <map>

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

namespace tenon::host {

#define TENON_EMBEDDED(name) \
  std::string_view(tenon_##name##_begin, static_cast<size_t>(tenon_##name##_end - tenon_##name##_begin))
#define TENON_TEMPLATE(kind)                                                                        \
  {                                                                                                 \
    config::ComponentKind::kind, { TENON_EMBEDDED(kind##_source), TENON_EMBEDDED(kind##_run_file) } \
  }

const PluginTemplate& find_template(config::ComponentKind kind) {
  static const std::map<config::ComponentKind, PluginTemplate> templates = {
      TENON_TEMPLATE(dataset), TENON_TEMPLATE(model), TENON_TEMPLATE(loss), TENON_TEMPLATE(metric),
      TENON_TEMPLATE(callback)};
  return templates.at(kind);
}

std::string_view cmake_template() { return TENON_EMBEDDED(cmake_lists); }

}  // namespace tenon::host
