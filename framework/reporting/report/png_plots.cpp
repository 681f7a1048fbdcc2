#include "framework/reporting/report/png_plots.h"

#include <chrono>
#include <vector>

#include "framework/artifacts/run_folder/program_output.h"
#include "framework/support/error.h"
#include "framework/support/files.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr const char* kProgram = "rsvg-convert";

}  // namespace

void require_png_converter(const std::string& requested_by) {
  if (!artifacts::read_program_output({kProgram, "--version"}, {}, 20s))
    throw support::Error(support::ErrorKind::configuration,
                         requested_by +
                             ": the program rsvg-convert, which renders PNG files, does not run; expected it in "
                             "PATH: install librsvg2-bin (Debian, Ubuntu) or librsvg2-tools (Fedora), or use the SVG "
                             "files that are always written");
}

void write_png_plots(const fs::path& folder) {
  std::vector<fs::path> plots;
  for (const fs::path& file : support::list_folder(folder, support::ErrorKind::system))
    if (file.extension() == ".svg") plots.push_back(file);
  for (const fs::path& plot : plots) {
    const fs::path png = fs::path(plot).replace_extension(".png");
    if (!artifacts::read_program_output({kProgram, "--zoom=2", "--output=" + png.string(), plot.string()}, {}, 60s))
      throw support::Error(support::ErrorKind::system, png.string() + ": rsvg-convert could not render it");
  }
}

}  // namespace tenon::reporting
