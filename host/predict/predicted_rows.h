// The predictions for one batch as `host predict` writes them, on the way from the process that computed them to the
// one that writes the files, and their pictures: masks, and a page.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/render_samples.h"
#include "framework/config/values/class_names.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/reporting/predictions/prediction_file.h"

namespace tenon::host {

struct TopColumns {
  at::Tensor classes;        // int64 [N, K]
  at::Tensor probabilities;  // float32 [N, K]
};

struct PredictedRows {
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // contiguous on the CPU; the first is `index`
  std::vector<reporting::TextColumn> texts;
  std::vector<std::string> names;  // of the samples; may be empty
  std::optional<TopColumns> top;
  at::Tensor mask = {};  // uint8 [N, H, W], or undefined
  // The dataset's fields for the page; may be empty.
  std::vector<std::pair<std::string, at::Tensor>> fields = {};
  // Of padded columns, and of padded fields, by name: the shape of each sample, int64 [N, D].
  std::map<std::string, at::Tensor> shapes = {}, field_shapes = {};
  config::ClassNames class_names;  // of the columns
  bool is_stopped = false;         // by a signal

  bool is_empty() const { return tensors.empty(); }
};

// Returns the K largest softmax probabilities over the classes, dimension 1, of scores [N, C], in descending order; of
// equal ones the class with the smaller number comes first. Throws Error(configuration) if the output is no floats
// [N, C] with C of at least K. `name`: of the output, for messages.
TopColumns find_top_classes(const std::string& name, const at::Tensor& scores, int64_t count);

// Refers to the rows, which must outlive the result.
reporting::PredictionRows view_rows(const PredictedRows& rows);

// Returns the rows of all processes on rank 0, in the order of the ranks, and only those of this process on the others.
// is_stopped is true on all if it is on one. Called by all processes.
std::vector<PredictedRows> collect_rows(PredictedRows rows, distributed::ProcessGroup& group);

// Returns the class of each pixel, uint8 [N, H, W] on the CPU: of scores [N, C, H, W] the largest, of scores
// [N, 1, H, W] whether it is above 0, and integers [N, H, W] as they are. Throws Error(configuration) for another
// output and for more than 256 classes. `name`: of the output, for messages.
at::Tensor find_pixel_classes(const std::string& name, const at::Tensor& output);

// A folder with a grey PNG file for each sample. The level of a pixel is the number of its class.
class MaskFolder {
 public:
  // Creates the folder. Throws Error(configuration) if it cannot be created or is not empty.
  explicit MaskFolder(std::filesystem::path folder);

  // Writes the masks of a batch, uint8 [N, H, W]. Their files have the names of the samples with the extension .png,
  // and without a leading `/` or any `..`. Two samples with one such name keep their extension before .png. `names` may
  // be empty: then `indices`, int64 [N], are the names. Throws Error(configuration) if a file cannot be written.
  void write(const at::Tensor& masks, const std::vector<std::string>& names, const at::Tensor& indices);

 private:
  std::filesystem::path choose_file(const std::string& name);

  std::filesystem::path folder_;
  std::set<std::filesystem::path> taken_;
};

// A self-contained HTML page with the first samples: their fields as the model receives them, and the predictions.
class PredictionPage {
 public:
  static constexpr size_t kMost = 200;  // samples

  // `names`: the classes of the dataset's fields. `details`: of the fields that the model receives.
  PredictionPage(std::filesystem::path file, config::ClassNames names, artifacts::ImageDetails details);

  // Adds the samples of a batch. Marks those with a label that differs from the most probable class.
  void add(const PredictedRows& rows);

  // Writes the file, durably. `of_data`: the name of the data, for the title.
  void commit(const std::string& of_data) const;

 private:
  void add_field(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& tensor, int64_t row,
                 const at::Tensor& shapes = {});
  void add_output(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& output, int64_t row,
                  const at::Tensor& pixel_shapes);
  std::vector<std::string> describe_top(const TopColumns& top, int64_t row) const;
  bool is_wrong(const PredictedRows& rows, int64_t row) const;

  std::filesystem::path file_;
  config::ClassNames names_;
  artifacts::ImageDetails details_;
  std::vector<artifacts::SheetSample> samples_;
  std::vector<at::Tensor> tensors_;  // the memory of the samples' fields
  bool has_mask_ = false;            // a field has the classes of pixels
  size_t wrong_ = 0;
};

}  // namespace tenon::host
