#include "scripts/example_data/descriptions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/datasets/shared/split.h"
#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr double kValidationFraction = 0.1;
constexpr size_t kLeastWords = 8;

// Returns the output of a command. Throws std::runtime_error if it fails.
std::string read_output(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error(command + ": cannot be started");
  std::string text;
  std::array<char, 1 << 16> part;
  for (size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), size);
  if (pclose(pipe) != 0) throw std::runtime_error(command + ": failed; expected a Debian machine, which has apt");
  return text;
}

// Returns the text of all apt lists of a kind, "Packages" or "Translations". Reads every compression. Honours
// $APT_CONFIG.
std::string read_lists(const std::string& kind) {
  const std::string files =
      read_output("apt-get -o Acquire::Languages=en indextargets --format '$(FILENAME)' 'Created-By: " + kind + "'");
  std::istringstream lines(files);
  std::string text;
  for (std::string file; std::getline(lines, file);) {
    text += read_output("/usr/lib/apt/apt-helper cat-file '" + file + "'") + '\n';
  }
  if (!text.empty()) return text;
  throw std::runtime_error("apt has no lists of the kind " + kind +
                           "; expected those of a Debian release with English descriptions, which scripts/example-data "
                           "downloads unless APT_CONFIG is set");
}

// One paragraph of "Name: value" lines, including their continuation lines.
using Stanza = std::map<std::string, std::string, std::less<>>;

template <class Visit>
void visit_stanzas(const std::string& text, Visit&& visit) {
  std::istringstream lines(text);
  Stanza stanza;
  std::string* value = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      if (!stanza.empty()) visit(stanza);
      stanza.clear();
      value = nullptr;
    } else if (line[0] == ' ' || line[0] == '\t') {
      if (value) *value += '\n' + line;
    } else if (const size_t colon = line.find(':'); colon != std::string::npos) {
      value = &(stanza[line.substr(0, colon)] = line.substr(std::min(colon + 2, line.size())));
    }
  }
  if (!stanza.empty()) visit(stanza);
}

std::string field(const Stanza& stanza, std::string_view name) {
  const auto found = stanza.find(name);
  return found == stanza.end() ? std::string() : found->second;
}

// Joins the words with single spaces. Skips lines with only a dot, which separate paragraphs.
std::string join_words(const std::string& text) {
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    if (line == " .") continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  }
  return joined;
}

std::string to_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has_verbatim(const std::string& text, const std::string& synopsis) {
  return to_lower(text).find(to_lower(synopsis)) != std::string::npos;
}

bool has_words(const std::string& text, size_t least) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), ' ')) + 1 >= least;
}

// Returns the name of a source package without its version: gcc-11 and gcc-12 have the same family.
std::string name_family(const std::string& source) {
  std::string family;
  for (const char c : source)
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.') family += c;
  return family;
}

// Maps each package to the family of its source package.
std::map<std::string, std::string> read_families() {
  std::map<std::string, std::string> families;
  visit_stanzas(read_lists("Packages"), [&](const Stanza& stanza) {
    const std::string package = field(stanza, "Package");
    const std::string source = field(stanza, "Source");  // followed by a version in parentheses if it differs
    families.emplace(package, name_family(source.empty() ? package : source.substr(0, source.find(' '))));
  });
  return families;
}

struct Description {
  std::string text, synopsis;
};

// Maps each package to its description in the first list that has one.
std::map<std::string, Description> read_texts() {
  std::map<std::string, Description> texts;
  visit_stanzas(read_lists("Translations"), [&](const Stanza& stanza) {
    const std::string description = field(stanza, "Description-en");
    const size_t end = description.find('\n');
    if (end == std::string::npos) return;
    texts.emplace(field(stanza, "Package"),
                  Description{join_words(description.substr(end + 1)), join_words(description.substr(0, end))});
  });
  return texts;
}

}  // namespace

void write_descriptions(const std::filesystem::path& folder) {
  const std::map<std::string, std::string> families = read_families();
  std::set<std::pair<std::string, std::string>> seen;
  size_t repeated = 0, brief = 0, verbatim = 0, rows[2] = {};
  std::string tables[2] = {"package\tsource\ttarget\n", "package\tsource\ttarget\n"};
  for (const auto& [package, description] : read_texts()) {
    const auto& [text, synopsis] = description;
    const auto family = families.find(package);
    if (family == families.end() || synopsis.empty() || !has_words(text, kLeastWords)) {
      ++brief;
    } else if (has_verbatim(text, synopsis)) {
      ++verbatim;
    } else if (!seen.emplace(text, synopsis).second) {
      ++repeated;
    } else {
      const bool is_validation = datasets::is_validation_name(family->second, kValidationFraction);
      tables[is_validation] += package + '\t' + text + '\t' + synopsis + '\n';
      ++rows[is_validation];
    }
  }
  write_file(folder / "train.tsv", tables[0]);
  write_file(folder / "validation.tsv", tables[1]);
  std::printf(
      "%zu pairs for training, %zu for validation; skipped: %zu with the synopsis in the text, %zu duplicates, "
      "%zu with too short a text or without a package\n",
      rows[0], rows[1], verbatim, repeated, brief);
}

}  // namespace example_data
