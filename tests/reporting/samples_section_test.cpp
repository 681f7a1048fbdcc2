#include "framework/reporting/report/report_sections.h"

#include <ATen/ATen.h>

#include "framework/reporting/report/saved_samples.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::reporting::samples_section_test {

namespace {

pipeline::SampleScores scores_of(std::vector<pipeline::NamedValue> values) {
  pipeline::SampleScores scores;
  scores.data = "validation";
  scores.scored = scores.size = 1;
  scores.worst.push_back({0, 0.5, std::move(values)});
  return scores;
}

}  // namespace

TEST_CASE("texts are shown instead of tokens, in the order of the fields, and not the scores") {
  const SavedSamples saved = draw_scores(scores_of({{"source", at::arange(3), "Mar <3>"},
                                                    {"length", at::tensor(7)},
                                                    {"predicted target", at::arange(3), std::string(500, 'x')},
                                                    {"scores", at::rand({3, 20}), std::nullopt, /*is_output=*/true},
                                                    {"mean", at::tensor(0.5), std::nullopt, /*is_output=*/true}}),
                                         1);
  const auto& values = saved.worst[0].drawn.values;
  REQUIRE(values.size() == 4);
  CHECK(values[0] == std::pair<std::string, std::string>("source", "Mar <3>"));
  CHECK(values[1] == std::pair<std::string, std::string>("length", "7"));
  CHECK(values[2].second == std::string(400, 'x') + "...");
  CHECK(values[3] == std::pair<std::string, std::string>("mean", "0.5"));
  CHECK(contains(format_samples_section(saved), "source: Mar &lt;3&gt;"));
}

TEST_CASE("the legend of masks names the classes by colour, and is kept in samples.json") {
  const auto mask = at::tensor({0, 1}, at::kLong).view({1, 2});
  const SavedSamples saved =
      draw_scores(scores_of({{"image", at::zeros({1, 2, 3}, at::kByte)}, {"mask", mask}, {"predicted mask", mask}}), 1,
                  {{"mask", {"sky", "a < b"}}});
  write_samples(saved, test_folder() / "masks");
  const auto read = read_samples(test_folder() / "masks");
  REQUIRE(read);
  REQUIRE(read->colours.size() == 2);
  const std::string section = format_samples_section(*read);
  CHECK(contains(section, "background:#808080\"></span> sky</span>"));
  CHECK(contains(section, "background:" + saved.colours[1].colour + "\"></span> a &lt; b</span>"));
  CHECK(section.find("Colours of classes:") < section.find("Worst samples"));
  CHECK_FALSE(contains(format_samples_section(draw_scores(scores_of({{"label", at::tensor(1)}}), 1)), "Colours of"));
}

TEST_CASE("predicted numbers have a chart against the actual ones, and are kept in samples.json") {
  pipeline::SampleScores scores = scores_of({{"target", at::tensor(1.0)}});
  scores.numbers.push_back(
      {"logits", "target", at::tensor({1.0, 2.0, 10.0, 20.0, 3.0, 3.0, 30.0, 36.0}, at::kDouble).view({2, 2, 2})});
  write_samples(draw_scores(scores, 1), test_folder() / "samples");
  const auto read = read_samples(test_folder() / "samples");
  REQUIRE(read);
  REQUIRE(read->numbers.size() == 1);
  REQUIRE(read->numbers[0].columns.size() == 2);
  CHECK(read->numbers[0].columns[1] == std::vector<std::pair<double, double>>{{10, 20}, {30, 36}});
  const std::string section = format_samples_section(*read);
  CHECK(contains(section, "target 1: predicted against actual"));
  CHECK(contains(section, "Mean absolute error 0.5, largest 1, of 2 samples."));
  CHECK(contains(section, "predicted, actual 30: 36"));
}

}  // namespace tenon::reporting::samples_section_test
