// The samples with the smallest and the largest loss of a run, stored in samples/samples.json and PNG files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/confusion_chart.h"
#include "framework/artifacts/drawing/render_samples.h"
#include "framework/components/kinds/dataset.h"
#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/tools/score_samples.h"

namespace tenon::reporting {

struct SavedSample {
  int64_t index;  // index in the dataset
  double loss;    // loss of this sample
  artifacts::RenderedSample drawn;
};

struct SavedConfusion {
  std::string output;  // model output: "logits"
  std::string target;  // dataset field: "label"
  bool is_per_sample;  // one class per sample, not one per position
  artifacts::Confusion counts;
};

// Predicted numbers, for a chart of predictions against targets.
struct SavedNumbers {
  std::string output;  // model output: "logits"
  std::string target;  // dataset field: "target"
  // For each number of a sample: its target and its prediction in every scored sample.
  std::vector<std::vector<std::pair<double, double>>> columns;
};

struct SavedSamples {
  std::string data;                // "validation"
  int64_t step;                    // step of the weights
  int64_t scored;                  // number of evaluated samples
  int64_t size;                    // number of samples in the dataset
  std::vector<SavedSample> worst;  // largest loss first
  std::vector<SavedSample> best;   // smallest loss first
  std::map<std::string, artifacts::GreyRange> ranges;
  std::vector<SavedConfusion> classes;
  std::vector<SavedNumbers> numbers = {};
  std::vector<artifacts::ClassColour> colours = {};
};

// A column of a table, as the dataset describes it: a number that was standardised, or the categories of several
// features of which one is 1.
struct TableColumn {
  std::string name;
  double mean = 0, std = 1;
  std::vector<std::string> categories = {};  // empty: a number
};
using TableColumns = std::map<std::string, std::vector<TableColumn>>;  // by field

// `names`: of the classes, by field. `columns`: of tables; they are named, with their values in the table. Outputs that
// predict no field are left out if they have many values.
SavedSamples draw_scores(const pipeline::SampleScores& scores, int64_t step, const config::ClassNames& names = {},
                         const artifacts::ImageDetails& details = {}, const TableColumns& columns = {});

// Writes the folder and replaces an existing one. Throws Error(system) on failure.
void write_samples(const SavedSamples& samples, const std::filesystem::path& folder);

// Returns nothing if there is no folder. Throws Error(checkpoint) with the name of a damaged file.
std::optional<SavedSamples> read_samples(const std::filesystem::path& folder);

// Converts a name to that of a file: keeps letters, digits, dots and hyphens, and replaces each other byte by an
// underscore.
std::string make_file_name(std::string_view name);

// Returns how images were normalised, to show them in their true colours: the fields with one step `normalize` that has
// `mean` and `std`, see tenon/preprocessing.h. And the fields with places in images.
artifacts::ImageDetails find_image_details(const config::RunPlan& plan, const components::Dataset& data);

// The same, and the results of the model with places in an image that it reads.
artifacts::ImageDetails find_image_details(const config::RunPlan& plan, const pipeline::BoundDataset& data,
                                           const components::Model& model);

// Finds the columns of the fields that the dataset describes by its preprocessing.
TableColumns find_table_columns(const config::RunPlan& plan, const components::Dataset& data);

}  // namespace tenon::reporting
