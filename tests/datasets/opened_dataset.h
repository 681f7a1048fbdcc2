// A dataset plugin opened through its C table, with the minimal host that a dataset may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <tenon/dataset.h>
#include <tenon/plugin.h>

using ParamValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                std::vector<std::string>>;
using ParamValues = std::map<std::string, ParamValue>;

// The parameters with these changes and additions.
ParamValues with_changes(ParamValues params, const ParamValues& changes);

// A function of the plugin returned something other than TENON_OK.
struct Refused : std::runtime_error {
  Refused(tenon_status status, const std::string& text) : std::runtime_error(text), status(status) {}
  tenon_status status;
};

// The message of the Refused that `act` throws, or "". It begins with the status if this is another one.
template <class Act>
std::string refusal_of(tenon_status status, const Act& act) {
  try {
    act();
  } catch (const Refused& refused) {
    return (refused.status == status ? "" : "status " + std::to_string(refused.status) + ": ") + refused.what();
  }
  return "";
}

// Fields of one sample, by name.
using SampleBytes = std::map<std::string, std::vector<std::byte>>;

class OpenedDataset {
 public:
  // Opens the file and creates its only component. `fitted`: from fitted_data() of another one; empty: without. Throws
  // Refused with the plugin's message. Some parameters that are not given have their defaults.
  OpenedDataset(const std::filesystem::path& file, const ParamValues& params, const std::string& fitted = {});
  ~OpenedDataset();
  OpenedDataset(const OpenedDataset&) = delete;
  OpenedDataset& operator=(const OpenedDataset&) = delete;

  int64_t size() const;
  // Name and shape of each field, such as `image float32 1,8,8`.
  std::vector<std::string> describe_fields() const;
  // The classes of each field that has any, such as `label: cat, dog`, or `label: 10` if they have no names.
  std::vector<std::string> describe_classes() const;
  SampleBytes get(int64_t index, uint64_t seed = 0) const;

  std::vector<float> floats(int64_t index, const std::string& field, uint64_t seed = 0) const;
  std::vector<uint8_t> bytes(int64_t index, const std::string& field, uint64_t seed = 0) const;
  std::vector<int64_t> integers(int64_t index, const std::string& field, uint64_t seed = 0) const;
  int64_t integer(int64_t index, const std::string& field) const;

  // Opens and closes workers on several threads at the same time, as a loader does.
  void open_workers(int64_t threads, int64_t times) const;

  // Runs `work` on several threads at the same time, each with a worker. `get` returns a sample.
  using Get = std::function<SampleBytes(int64_t index)>;
  void run_workers(int64_t threads, const std::function<void(const Get& get, int64_t id)>& work) const;

  // Returns the length of each sample (tenon.sample-lengths/1). Throws std::logic_error if the dataset does not provide
  // them.
  std::vector<int64_t> lengths() const;

  // Throws std::logic_error if the dataset does not name its samples (tenon.sample-names/1).
  std::string sample_name(int64_t index) const;

  // Fields, vocabulary size, begin, end and pad (tenon.tokenizer/1), such as `tokens, target: 256 -1 -1 -1`; empty if
  // the data are no text.
  std::string describe_tokenizer() const;
  std::vector<int64_t> encode(const std::string& text) const;
  std::string decode(const std::vector<int64_t>& tokens) const;

  // Throws std::logic_error if the dataset computes none.
  uint64_t fingerprint() const;

  // What the dataset derived from its data (tenon.draft.fitted-data/1).
  std::string fitted_data() const;

  // Returns the log lines since the latest dataset was created.
  static const std::vector<std::string>& log();

 private:
  SampleBytes read(void* worker, int64_t index, uint64_t seed) const;

  const tenon_component* component_ = nullptr;
  const tenon_dataset* table_ = nullptr;
  void* self_ = nullptr;
  void* worker_ = nullptr;
  std::vector<const tenon_field*> fields_;
};
