#include "host/command_line/colour_option.h"

#include <algorithm>
#include <utility>

#include "framework/formats/nearest_name.h"
#include "framework/support/text/terminal.h"
#include "host/command_line/arguments.h"

namespace tenon::host {

namespace {

constexpr const char* kOption = "--color";

void apply(const std::string& value) {
  using support::Colours;
  static const std::vector<std::pair<std::string, Colours>> known = {
      {"auto", Colours::automatic}, {"always", Colours::always}, {"never", Colours::never}};
  const auto found = std::ranges::find(known, value, &std::pair<std::string, Colours>::first);
  if (found == known.end())
    refuse_command_line(
        nullptr,
        std::string(kOption) + " is \"" + value + "\"" + formats::suggest_name(value, {"auto", "always", "never"}),
        "auto, always or never");
  support::set_colours(found->second);
}

}  // namespace

void take_colour_option(std::vector<std::string>& words) {
  const std::string prefix = std::string(kOption) + "=";
  for (auto word = words.begin(); word != words.end();) {
    if (word->starts_with(prefix)) {
      apply(word->substr(prefix.size()));
      word = words.erase(word);
    } else if (*word == kOption) {
      apply(word + 1 == words.end() ? "" : *(word + 1));
      word = words.erase(word, word + 2);
    } else {
      ++word;
    }
  }
}

}  // namespace tenon::host
