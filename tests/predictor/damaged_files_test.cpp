// Damaged model files.
#include <doctest/doctest.h>

#include <random>
#include <tenon/draft/predictor.hpp>

#include "framework/support/digests/xxh128.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;
using tenon::draft::Predictor;
using tenon::draft::PredictorError;
namespace fs = std::filesystem;

namespace {

constexpr const char* kDigits =
    "[model]\nuse = \"mlp\"\nparams = { hidden = [4] }\n[data]\nbatch_size = 64\nworkers = 0\n"
    "[data.train]\nuse = \"digits\"\nparams = { split = \"train\" }\n"
    "[data.validation]\nuse = \"digits\"\nparams = { split = \"test\" }\n[[loss]]\nuse = \"cross_entropy\"\n";

// Returns the message.
std::string refuse(const fs::path& file, tenon_status status) {
  try {
    const Predictor predictor({.model = file.string(), .threads = 1});
  } catch (const PredictorError& error) {
    CHECK(error.status() == status);
    return error.what();
  }
  FAIL("it was opened");
  return "";
}

}  // namespace

TEST_CASE("a thousand damaged model files are refused, and the next one opens") {
  const ExportedModel exported = export_model("digits", kDigits);
  const std::string intact = read_file(exported.file);
  const fs::path damaged = exported.folder / "damaged.tenon";
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = intact;
    const size_t place = random() % bytes.size();
    switch (i % 4) {
      case 0: bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8)); break;
      case 1: bytes.resize(place); break;
      case 2: bytes.insert(place, 1 + random() % 64, static_cast<char>(random())); break;
      default: bytes.replace(place, 1 + random() % 512, 1 + random() % 512, static_cast<char>(random()));
    }
    if (bytes == intact) continue;
    CAPTURE(i);
    const std::string message = refuse(write_file(damaged, bytes), TENON_BAD_DATA);
    CHECK(tenon::contains(message, "damaged.tenon: "));
  }
  const Predictor predictor({.model = exported.file, .threads = 1});
  CHECK(predictor.info().input_count == 1);
}

TEST_CASE("descriptions and archives that contradict themselves are refused, or predict") {
  const ExportedModel exported = export_model("digits", kDigits);
  const std::string intact = read_file(exported.file);
  const size_t description = intact.find("\"class_names\""), weights = intact.find("layers.0.weight");
  REQUIRE(weights < description);
  const size_t directory = intact.find("PK\x01\x02");
  REQUIRE(description < directory);
  constexpr size_t kDigestBytes = 32;
  const fs::path changed = exported.folder / "changed.tenon";
  const std::string kWords[] = {"-1", "99999999999", "0", "null", "[", "{}", "\"\"", "true", "1e309", "[[[[[[[["};
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = intact.substr(0, intact.size() - kDigestBytes);
    const size_t begin = i % 4 == 0 ? directory : description;
    const size_t end = i % 4 == 0 ? bytes.size() : directory;
    const size_t place = begin + random() % (end - begin);
    // The archive keeps its lengths.
    const std::string word = kWords[random() % std::size(kWords)];
    if (i % 3 == 0)
      bytes[place] = static_cast<char>(random());
    else
      bytes.replace(place, std::min(word.size(), bytes.size() - place), word.substr(0, bytes.size() - place));
    write_file(changed, bytes + tenon::support::xxh128(std::string_view(bytes).substr(0, bytes.size() - 7)));
    CAPTURE(i);
    try {
      Predictor predictor({.model = changed.string(), .threads = 1});
      const std::vector<float> digit(64);
      predictor.run(tenon::draft::InputValue::elements(digit));
    } catch (const PredictorError& error) {
      ++refused;
      CHECK_FALSE(tenon::contains(error.what(), "its XXH128 is"));
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("what is no model file is refused with what it is") {
  const fs::path folder = make_empty_folder("files");
  CHECK(tenon::contains(refuse(folder / "missing.tenon", TENON_BAD_DATA), "missing.tenon: cannot be opened"));
  CHECK(tenon::contains(refuse(folder, TENON_BAD_DATA), "is not a file"));
  CHECK(tenon::contains(refuse(write_file(folder / "text.tenon", "no model"), TENON_BAD_DATA),
                        "is not a model file, or is cut short"));
}
