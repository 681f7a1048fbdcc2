#include "tests/config/run_file.h"

#include <fstream>

#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "framework/support/diagnostics/check.h"
#include "tests/config/stub_schemas.h"
#include "tests/test_folder.h"

namespace tenon::config {

const char* const kShortRunFile = R"([model]
use = "small_cnn"
[data]
batch_size = 64
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 10
[optimizer]
use = "adamw"
lr = 1e-3
)";

std::string short_run_file_with(const std::string& piece, const std::string& replacement) {
  std::string text = kShortRunFile;
  const size_t at = text.find(piece);
  TENON_CHECK(at != text.npos, piece);
  return text.replace(at, piece.size(), replacement);
}

std::filesystem::path write_run_file(const std::string& text) {
  const auto file = tenon::test_folder() / "digits.toml";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

RunPlan read_plan(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return resolve_run_plan(read_run_config(file, overrides), StubSchemas());
}

RunPlan plan_of(const std::string& text, const std::vector<std::string>& overrides) {
  return read_plan(write_run_file(text), overrides);
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides) {
  const std::string folder = tenon::test_folder().string() + "/";
  try {
    plan_of(text, overrides);
  } catch (const support::Error& error) {
    TENON_CHECK(error.kind() == support::ErrorKind::configuration, error.what());
    std::string message = error.what();
    for (size_t at = 0; (at = message.find(folder)) != message.npos;) message.erase(at, folder.size());
    return message;
  }
  return "";
}

}  // namespace tenon::config
