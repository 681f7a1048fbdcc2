// A dataset of a plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/dataset.h>

#include "framework/plugins/instance.h"
#include "framework/plugins/sample_slot.h"

namespace tenon::plugins {

class Dataset {
 public:
  using Field = SampleField;

  // Creates the dataset and reads its size and fields. Throws Error(plugin) for fields that make no sense, Error(data)
  // for an empty dataset or where the plugin says so.
  Dataset(const Component& component, const config::NamedDataset& plan);

  const std::string& name() const { return name_; }
  const Component& component() const { return instance_.component(); }
  int64_t size() const { return size_; }
  const std::vector<Field>& fields() const { return fields_; }

  // What the plugin knows of all samples beforehand, see tenon/sample_order.h; nothing where it has no such extension.
  // Throws Error(plugin) for numbers out of range, or what the plugin says.
  std::optional<std::vector<int64_t>> read_lengths() const;
  std::optional<std::vector<double>> read_weights() const;

  // [worker] What a worker thread keeps; each is used by one thread, and closed by close_worker on it.
  void* open_worker(uint64_t worker_id, uint64_t seed) const;
  void close_worker(void* worker) const noexcept;

  // [worker] Writes one sample, field i to slots[i]. Throws Error(data) or Error(plugin) naming the sample; a field
  // that was not asked for is an error too.
  void get(void* worker, const tenon_sample& sample, std::span<const SampleSlot> slots) const;

 private:
  void read_fields();

  std::string name_;
  std::string sample_unit_;  // "train sample", for messages that go on with its number
  Instance<tenon_dataset> instance_;
  int64_t size_ = 0;
  std::vector<Field> fields_;
};

// The field's shape of one sample: `?` for an extent that differs between samples.
ShapePattern sample_pattern(const SampleField& field);

}  // namespace tenon::plugins
