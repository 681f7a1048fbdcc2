// A dataset of a plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/dataset.h>

#include "framework/components/kinds/field_lists.h"
#include "framework/components/kinds/instance.h"
#include "framework/components/kinds/sample_slot.h"
#include "framework/components/kinds/tokenizer.h"

namespace tenon::components {

class Dataset {
 public:
  using Field = SampleField;

  // Creates the dataset, with plan.fitted if the plugin has that extension, and reads its size, fields, classes,
  // preprocessing and tokenizer. Throws Error(plugin) for invalid ones, and Error(data) for an empty dataset or if the
  // plugin reports bad data.
  Dataset(const Component& component, const config::NamedDataset& plan);

  const std::string& name() const { return name_; }
  const Component& component() const { return instance_.component(); }
  int64_t size() const { return size_; }
  const std::vector<Field>& fields() const { return fields_; }
  // The classes that the dataset declares, see tenon/class_names.h; at most one list per field.
  const std::vector<ClassList>& classes() const { return classes_; }

  // How the dataset makes its fields, see tenon/preprocessing.h; at most one list per field.
  const std::vector<FieldSteps>& preprocessing() const { return preprocessing_; }

  // How the dataset makes tokens of text; nothing if it has no tokenizer.
  const std::optional<Tokenizer>& tokenizer() const { return tokenizer_; }

  // What the dataset derived from its data, or was created with, see tenon/draft/fitted_data.h; empty if the plugin
  // does not have the extension. Throws Error as call_plugin does.
  std::string read_fitted_data() const;

  // The fingerprint that the plugin computes of its data, see tenon_dataset; nothing if it computes none.
  std::optional<uint64_t> read_fingerprint() const;

  // Whether samples have names, see tenon/sample_names.h.
  bool names_samples() const;

  // [train] The name of a sample, with escapes for control characters and for bytes that are not UTF-8. Throws
  // Error(plugin) for an empty one, or the error that the plugin reports. REQUIRES: names_samples().
  std::string name_sample(int64_t index) const;

  // The lengths or weights of all samples, see tenon/sample_order.h; nothing if the plugin does not have the extension.
  // Throws Error(plugin) for numbers out of range, or the error that the plugin reports.
  std::optional<std::vector<int64_t>> read_lengths() const;
  std::optional<std::vector<double>> read_weights() const;

  // [worker] Opens the state of a worker thread. Only this thread uses it, and closes it with close_worker.
  void* open_worker(uint64_t worker_id, uint64_t seed) const;
  void close_worker(void* worker) const noexcept;

  // [worker] Writes one sample, field i to slots[i]. Throws Error(data) or Error(plugin) with the sample's index. A
  // field that the plugin did not request is also an error.
  void get(void* worker, const tenon_sample& sample, std::span<const SampleSlot> slots) const;

 private:
  void read_fields(const tenon_field* const* fields, uint64_t count);

  std::string name_;
  std::string sample_unit_;  // "train sample", or "sample" without a name, for messages that continue with the index
  Instance<tenon_dataset> instance_;
  int64_t size_ = 0;
  std::vector<Field> fields_;
  std::vector<ClassList> classes_;
  std::vector<FieldSteps> preprocessing_;
  std::optional<Tokenizer> tokenizer_;
};

// Whether the component has the extension TENON_PREPARE. Throws Error as call_plugin does.
bool has_preparation(const Component& dataset);

// Prepares the files of a dataset, which may take long. Does nothing without the extension. Call it before the dataset
// is created. Throws Error as call_plugin does.
void prepare_dataset(const Component& dataset, const config::ComponentPlan& plan);

// The shape of the field in one sample, with `?` for an extent that differs between samples.
ShapePattern sample_pattern(const SampleField& field);

}  // namespace tenon::components
