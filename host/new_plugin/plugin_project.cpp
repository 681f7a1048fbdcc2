#include "host/new_plugin/plugin_project.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <tenon/random.h>

#include "framework/artifacts/files/encode.h"
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
TENON_EMBED_KIND(transform)
TENON_EMBED_KIND(images)
#define TENON_EMBEDDED(name) \
  std::string_view(tenon_##name##_begin, static_cast<size_t>(tenon_##name##_end - tenon_##name##_begin))
#define TENON_TEMPLATE(kind) \
  { TENON_EMBEDDED(kind##_source), TENON_EMBEDDED(kind##_run_file) }

namespace tenon::host {

namespace {

// Both use the name `my_name` and the class `MyName`.
struct TemplateFiles {
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

// A circle or a square of a random colour, size and place, as a PNG.
std::string draw_image(tenon_random& random, bool is_square) {
  constexpr int64_t kHeight = 40, kWidth = 48;
  const auto pick = [&](int64_t from, int64_t to) { return from + tenon_random_integer(&random, to - from); };
  const int64_t radius = pick(7, 15);
  const int64_t x = pick(radius, kWidth - radius), y = pick(radius, kHeight - radius);
  std::array<std::array<int64_t, 3>, 2> colours{};
  for (auto& level : colours[0]) level = pick(0, 110);
  for (auto& level : colours[1]) level = pick(130, 256);
  std::vector<std::byte> pixels;
  for (int64_t row = 0; row < kHeight; ++row) {
    for (int64_t column = 0; column < kWidth; ++column) {
      const int64_t across = std::abs(column - x), down = std::abs(row - y);
      const bool is_within =
          is_square ? std::max(across, down) <= radius : across * across + down * down <= radius * radius;
      for (const int64_t level : colours[is_within ? 1 : 0]) pixels.push_back(static_cast<std::byte>(level));
    }
  }
  std::vector<std::byte> file;
  artifacts::encode_png(pixels, kHeight, kWidth, 3, file);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

// With a list for training and one for validation, or with folders of classes for both.
void add_drawn_images(std::map<std::string, std::string>& project, bool has_lists) {
  constexpr int kTrain = 120, kAll = 160;
  tenon_random random = tenon_random_start(0, 0);
  for (int number = 0; number < kAll; ++number) {
    const std::string set = number < kTrain ? "train" : "validation";
    const bool is_square = number % 2 == 1;
    const std::string folder = has_lists ? "photos/" : "photos/" + set + (is_square ? "/square/" : "/circle/");
    const std::string file = folder + std::to_string(1000 + number).substr(1) + ".png";
    if (has_lists) project[set + ".txt"] += std::to_string(number % 2) + ' ' + file + '\n';
    project[file] = draw_image(random, is_square);
  }
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

std::map<std::string, std::string> make_plugin_project(const std::string& name, config::ComponentKind kind,
                                                       PluginTemplate chosen) {
  using config::ComponentKind;
  static const std::map<ComponentKind, TemplateFiles> templates = {
      {ComponentKind::dataset, TENON_TEMPLATE(dataset)},   {ComponentKind::model, TENON_TEMPLATE(model)},
      {ComponentKind::loss, TENON_TEMPLATE(loss)},         {ComponentKind::metric, TENON_TEMPLATE(metric)},
      {ComponentKind::callback, TENON_TEMPLATE(callback)}, {ComponentKind::transform, TENON_TEMPLATE(transform)}};
  const bool has_images = chosen == PluginTemplate::images;
  const TemplateFiles& files = has_images ? TemplateFiles(TENON_TEMPLATE(images)) : templates.at(kind);
  std::map<std::string, std::string> project = {{"CMakeLists.txt", fill_in(TENON_EMBEDDED(cmake_lists), name)},
                                                {name + ".cpp", fill_in(files.source, name)},
                                                {name + ".toml", fill_in(files.run_file, name)}};
  if (kind == ComponentKind::transform) add_drawn_images(project, /*has_lists=*/false);
  if (!has_images) return project;
  const std::string validate = "validate $<TARGET_FILE:" + name + ">";
  project["CMakeLists.txt"] = formats::replace_all(project["CMakeLists.txt"], validate,
                                                   validate + "\n                   --params \"dataset." + name +
                                                       "={ path = '${CMAKE_CURRENT_SOURCE_DIR}/train.txt' }\"");
  add_drawn_images(project, /*has_lists=*/true);
  return project;
}

}  // namespace tenon::host
