// Encodes the samples of a dataset as files of a shard, on the worker that reads them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/data/sample_source.h"
#include "framework/packing/encode_field.h"

namespace tenon::packing {

// Each field has shape [-1] and contains the bytes of the file of the field with the same index.
class EncodedSamples final : public data::SampleSource {
 public:
  // `samples` must outlive this object. `name` is the name of the dataset, for messages. Throws as choose_file() does.
  EncodedSamples(data::SampleSource& samples, std::string name);

  int64_t size() const override { return samples_.size(); }
  const std::vector<data::Field>& fields() const override { return fields_; }
  std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) override;

  const std::vector<FieldFile>& files() const { return files_; }

 private:
  class EncodingWorker;

  data::SampleSource& samples_;
  std::string name_;
  std::vector<FieldFile> files_;
  std::vector<data::Field> fields_;
};

}  // namespace tenon::packing
