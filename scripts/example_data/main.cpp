// Creates example data: example_data KIND DIR. Each call writes the same files. scripts/example-data documents it.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "scripts/example_data/kinds.h"
#include "scripts/example_data/output_files.h"

namespace {

std::string describe_usage() {
  std::string text = "usage: scripts/example-data KIND DIR\n\nWrites example data into the new folder DIR. KIND is\n";
  for (const example_data::Kind& kind : example_data::all_kinds()) {
    text += "  " + kind.name + std::string(14 - kind.name.size(), ' ') + kind.doc + '\n';
  }
  return text;
}

const example_data::Kind& find_kind(const std::string& name) {
  std::string known;
  for (const example_data::Kind& kind : example_data::all_kinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  throw std::invalid_argument("there is no kind \"" + name + "\" of example data; expected one of " + known);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && (argv[1] == std::string("--help") || argv[1] == std::string("-h"))) {
      std::fputs(describe_usage().c_str(), stdout);
      return 0;
    }
    if (argc != 3 || argv[1][0] == '-' || argv[2][0] == '-') {
      std::fputs(describe_usage().c_str(), stderr);
      return 2;
    }
    example_data::write_folder(argv[2], find_kind(argv[1]).write);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
