#include <algorithm>
#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include <tenon/class_names.h>
#include <tenon/sample_order.h>

#include "framework/components/calls/ports.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/compute/philox.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/session/child_process.h"

namespace tenon::validation {

namespace {

using components::Dataset;
using support::StreamPurpose;

Dataset open_dataset(const Session& session) {
  session.prepare(session.plan());
  return {session.component(), config::NamedDataset{session.plan(), ""}};
}

// The number of samples that checks read: the first 64, or all.
int64_t count_read(const Dataset& dataset) { return std::min<int64_t>(dataset.size(), 64); }

std::string sample_name(int64_t index) { return fmt::format("sample {}", index); }

// The shape and the bytes of each field of one sample.
using Contents = std::vector<std::pair<std::vector<int64_t>, std::vector<std::byte>>>;

// The memory that a dataset writes one sample to, filled with a byte, between guard bytes of the same value.
class SampleMemory {
 public:
  explicit SampleMemory(const Dataset& dataset, std::byte fill = {}) : dataset_(dataset), fill_(fill) {
    fields_.reserve(dataset.fields().size());
    for (const components::SampleField& field : dataset.fields()) {
      components::VaryingSample& memory = fields_.emplace_back(kGuard, fill);
      if (field.is_varying())
        slots_.push_back({nullptr, &memory});
      else
        slots_.push_back({memory.resize(field.shape, field.sample_bytes), nullptr});
    }
  }
  SampleMemory(const SampleMemory&) = delete;
  SampleMemory& operator=(const SampleMemory&) = delete;

  std::span<const components::SampleSlot> slots() const { return slots_; }

  std::string fields_written_outside() const {  // "" or "image, before its first byte"
    std::string names;
    const auto add = [&](size_t i, const char* place) {
      names += (names.empty() ? "" : ", ") + dataset_.fields()[i].name + place;
    };
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!is_untouched(fields_[i].data() - kGuard)) add(i, ", before its first byte");
      if (!is_untouched(fields_[i].data() + fields_[i].bytes())) add(i, ", after its last byte");
    }
    return names;
  }

  Contents contents() const {
    Contents all;
    for (const components::VaryingSample& field : fields_)
      all.push_back({{field.shape().begin(), field.shape().end()}, {field.data(), field.data() + field.bytes()}});
    return all;
  }

 private:
  static constexpr size_t kGuard = 4096;
  bool is_untouched(const std::byte* guard) const {
    return std::all_of(guard, guard + kGuard, [this](std::byte byte) { return byte == fill_; });
  }

  const Dataset& dataset_;
  const std::byte fill_;
  std::vector<components::VaryingSample> fields_;
  std::vector<components::SampleSlot> slots_;
};

// A scope with one open worker.
class OpenWorker {
 public:
  OpenWorker(const Session& session, const Dataset& dataset, uint64_t id = 0)
      : dataset_(dataset),
        seed_(session.seed()),
        worker_(dataset.open_worker(id, support::derive_seed(seed_, StreamPurpose::worker, 1, 0))) {}
  OpenWorker(const OpenWorker&) = delete;
  OpenWorker& operator=(const OpenWorker&) = delete;
  ~OpenWorker() { dataset_.close_worker(worker_); }

  // Throws support::Error.
  void get(int64_t index, const SampleMemory& memory) const {
    const uint64_t seed = support::derive_seed(seed_, StreamPurpose::sample, 1, static_cast<uint64_t>(index));
    dataset_.get(worker_, {sizeof(tenon_sample), index, 1, seed}, memory.slots());
  }
  Contents read(int64_t index, std::byte fill = {}) const {
    const SampleMemory memory(dataset_, fill);
    get(index, memory);
    return memory.contents();
  }

 private:
  const Dataset& dataset_;
  const uint64_t seed_;
  void* const worker_;
};

void check_length(Session& session) {
  const components::Instance<tenon_dataset> instance = session.create<tenon_dataset>();
  int64_t lengths[2] = {-1, -1};
  for (int64_t& length : lengths)
    instance.call([&](const tenon_dataset& table) { return table.length(instance.self(), &length); }, "length");
  if (lengths[0] < 1) throw Failed("length returns {}; expected at least 1", lengths[0]);
  if (lengths[0] != lengths[1])
    throw Failed("length returns {}, then {}; expected the same each time", lengths[0], lengths[1]);
}

std::string describe_fields(const Dataset& dataset) {
  std::string text;
  for (const components::SampleField& field : dataset.fields())
    text += fmt::format("{}{}: {} {}", text.empty() ? "" : "; ", field.name, components::dtype_name(field.dtype),
                        components::to_string(components::exact_shape(field.shape)));
  return text;
}

void check_fields(Session& session) {
  const std::string first = describe_fields(open_dataset(session));
  const std::string second = describe_fields(open_dataset(session));
  if (first != second) throw Failed("fields returns {}, then {}; expected the same each time", first, second);
}

void check_workers(Session& session) {
  const Dataset dataset = open_dataset(session);
  if (!static_cast<const tenon_dataset*>(session.component().table)->open_worker)
    throw Skipped("it has no open_worker");
  auto first = std::make_unique<OpenWorker>(session, dataset, 0);
  const OpenWorker second(session, dataset, 1);
  first.reset();
  const OpenWorker third(session, dataset, 0);
}

void check_get(Session& session) {
  const Dataset dataset = open_dataset(session);
  const OpenWorker worker(session, dataset);
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    worker.read(index);
    session.require_no_violation("get", "get of " + sample_name(index));
  }
}

void check_stays_in_slot(Session& session) {
  const Dataset dataset = open_dataset(session);
  const OpenWorker worker(session, dataset);
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    const SampleMemory memory(dataset, std::byte{0xC3});
    worker.get(index, memory);
    if (const std::string outside = memory.fields_written_outside(); !outside.empty())
      throw Failed("get of {} wrote outside of the slot of {}", sample_name(index), outside);
  }
}

// A byte that keeps both fill patterns was never written.
void check_fills_slot(Session& session) {
  constexpr std::byte kFirst{0xA5};
  constexpr std::byte kSecond{0x5A};
  const Dataset dataset = open_dataset(session);
  const OpenWorker worker(session, dataset);
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    const Contents first = worker.read(index, kFirst), second = worker.read(index, kSecond);
    for (size_t field = 0; field < first.size(); ++field) {
      const std::vector<std::byte>&one = first[field].second, &other = second[field].second;
      for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
        if (one[i] == kFirst && other[i] == kSecond)
          throw Failed("get of {} left element {} of {} unwritten; the host does not clear slots", sample_name(index),
                       i / dataset.fields()[field].element_bytes, dataset.fields()[field].name);
    }
  }
}

void check_finite_samples(Session& session) {
  const Dataset dataset = open_dataset(session);
  const OpenWorker worker(session, dataset);
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    const Contents sample = worker.read(index);
    for (size_t i = 0; i < sample.size(); ++i) {
      const components::SampleField& field = dataset.fields()[i];
      if ((TENON_DTYPE_BIT(field.dtype) & TENON_ANY_FLOAT) == 0) continue;
      const std::vector<std::byte>& bytes = sample[i].second;
      const at::Tensor elements = at::from_blob(const_cast<std::byte*>(bytes.data()),
                                                {static_cast<int64_t>(bytes.size() / field.element_bytes)},
                                                components::to_scalar_type(field.dtype));
      if (at::isfinite(elements).all().item<bool>()) continue;
      session.warn(fmt::format("get of {} returns NaN or infinity in {}", sample_name(index), field.name));
      return;
    }
  }
}

// The elements of an integer field.
std::vector<int64_t> read_integers(const std::vector<std::byte>& bytes, const components::SampleField& field) {
  const at::Tensor elements =
      at::from_blob(const_cast<std::byte*>(bytes.data()), {static_cast<int64_t>(bytes.size() / field.element_bytes)},
                    components::to_scalar_type(field.dtype))
          .to(at::kLong);
  return {elements.data_ptr<int64_t>(), elements.data_ptr<int64_t>() + elements.numel()};
}

// A mask may have one number for the pixels of no class, and targets that a loss ignores are usually negative.
void check_class_numbers(Session& session) {
  const Dataset dataset = open_dataset(session);
  if (dataset.classes().empty()) throw Skipped("it declares no classes (" TENON_CLASS_NAMES ")");
  const OpenWorker worker(session, dataset);
  std::vector<std::set<int64_t>> beyond(dataset.classes().size());
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    const Contents sample = worker.read(index);
    for (size_t i = 0; i < beyond.size(); ++i) {
      const components::ClassList& classes = dataset.classes()[i];
      const components::SampleField& field = dataset.fields()[classes.field];
      for (const int64_t number : read_integers(sample[classes.field].second, field))
        if (number >= classes.count) beyond[i].insert(number);
      const bool has_no_class = !field.shape.empty() && beyond[i].size() == 1 && *beyond[i].begin() != classes.count;
      if (beyond[i].empty() || has_no_class) continue;
      throw Failed(
          "get of {} has {} in {}, which declares the classes 0 to {}; expected numbers of these classes{}, or more "
          "classes. A dataset with other numbers that a loss ignores can declare an exception "
          "(tenon/draft/validation.h)",
          sample_name(index), *beyond[i].begin(), field.name, classes.count - 1,
          field.shape.empty() ? "" : fmt::format(", one number above {} for elements of no class", classes.count));
    }
  }
}

// Names the samples with too many threads: "get of sample 3 started 4 threads".
void check_starts_no_threads(Session& session) {
  const Dataset dataset = open_dataset(session);
  const OpenWorker worker(session, dataset);
  for (int64_t index = 0; index < count_read(dataset); ++index) {
    const size_t before = count_threads();
    worker.read(index);
    // A thread that was joined may still be in the list for a moment.
    for (int i = 0; i < 100 && count_threads() > before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (const size_t after = count_threads(); after > before)
      throw Failed(
          "get of {} started {}, which still run. Each worker of the host is a thread that calls get, so that more "
          "threads compete for the same cores; expected none, as after cv::setNumThreads(1). A dataset that needs them "
          "can declare an exception (tenon/draft/validation.h)",
          sample_name(index), support::format_count(static_cast<int64_t>(after - before), "thread"));
  }
}

std::vector<Contents> read_in_order(const Session& session, const Dataset& dataset) {
  const OpenWorker worker(session, dataset);
  std::vector<Contents> samples;
  for (int64_t index = 0; index < count_read(dataset); ++index) samples.push_back(worker.read(index));
  return samples;
}

void check_dataset_repeats(Session& session) {
  const Dataset dataset = open_dataset(session);
  const std::vector<Contents> first = read_in_order(session, dataset);
  const std::vector<Contents> second = read_in_order(session, dataset);
  const auto differing = std::ranges::mismatch(first, second).in1;
  if (differing != first.end())
    throw Failed(
        "get returns different bytes for {} the second time; expected them to depend only on the sample's index and "
        "seed",
        sample_name(differing - first.begin()));
}

void check_any_order(Session& session) {
  const std::vector<Contents> expected = read_in_order(session, open_dataset(session));
  const Dataset other = open_dataset(session);
  const OpenWorker worker(session, other);
  for (int64_t index = count_read(other) - 1; index >= 0; --index)
    if (worker.read(index) != expected.at(static_cast<size_t>(index)))
      throw Failed(
          "get returns different bytes for {} when the samples are read from the last to the first; expected them to "
          "depend only on index and seed",
          sample_name(index));
}

// Reads the samples three times, from sample `first` on, and returns the first difference; "": none.
std::string find_difference(const OpenWorker& worker, const std::vector<Contents>& expected, size_t first,
                            std::barrier<>& start) {
  std::string difference;
  for (int round = 0; round < 3; ++round) {
    start.arrive_and_wait();
    for (size_t i = 0; i < expected.size() && difference.empty(); ++i) {
      const size_t index = (i + first) % expected.size();
      try {
        if (worker.read(static_cast<int64_t>(index)) != expected[index])
          difference = fmt::format("get returns different bytes for {} while other threads call it",
                                   sample_name(static_cast<int64_t>(index)));
      } catch (const std::exception& error) {
        difference = error.what();
      }
    }
  }
  return difference;
}

void check_threads(Session& session) {
  constexpr size_t kThreads = 4;
  const Dataset dataset = open_dataset(session);
  const std::vector<Contents> expected = read_in_order(session, dataset);
  std::string differences[kThreads];
  std::barrier<> start(kThreads);
  {
    std::deque<OpenWorker> workers;
    for (size_t i = 0; i < kThreads; ++i) workers.emplace_back(session, dataset, i);
    record_call("get", "on four threads at once");
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] { differences[i] = find_difference(workers[i], expected, i, start); });
  }
  for (const std::string& difference : differences)
    if (!difference.empty()) throw Failed(difference + "; expected the same as on one thread");
}

void check_fingerprint(Session& session) {
  const std::optional<uint64_t> first = open_dataset(session).read_fingerprint();
  const std::optional<uint64_t> second = open_dataset(session).read_fingerprint();
  if (!first) throw Skipped("it has no fingerprint");
  if (first != second)
    throw Failed("fingerprint returns {}, then {} for another instance of the same data; expected equal numbers",
                 *first, *second);
}

// `read` returns one number per sample, or nothing. Throws Failed if the numbers are others the second time.
template <class Read>
void require_same_numbers(const std::string& function, const char* id, const Read& read) {
  const auto first = read(), second = read();
  if (!first) throw Skipped(fmt::format("it does not provide them ({})", id));
  const auto [one, other] = std::ranges::mismatch(*first, *second);
  if (one != first->end())
    throw Failed("{} returns {} for sample {}, then {}; expected the same each time", function, *one,
                 one - first->begin(), *other);
}

void check_lengths(Session& session) {
  const Dataset dataset = open_dataset(session);
  require_same_numbers("lengths", TENON_SAMPLE_LENGTHS, [&] { return dataset.read_lengths(); });
}

void check_weights(Session& session) {
  const Dataset dataset = open_dataset(session);
  require_same_numbers("weights", TENON_SAMPLE_WEIGHTS, [&] { return dataset.read_weights(); });
}

}  // namespace

void use_dataset(Session& session) {
  const Dataset dataset = open_dataset(session);
  {
    const OpenWorker worker(session, dataset);
    for (int64_t index = 0; index < count_read(dataset); ++index) worker.read(index);
  }
  dataset.read_fingerprint();
}

std::vector<Check> dataset_checks() {
  return {{"length", Level::contract, {"create"}, check_length},
          {"fields", Level::contract, {"length"}, check_fields},
          {"workers", Level::contract, {"fields"}, check_workers},
          {"get", Level::contract, {"length", "fields", "workers"}, check_get},
          {"stays-in-slot", Level::contract, {"get"}, check_stays_in_slot},
          {"fills-slot", Level::contract, {"get"}, check_fills_slot},
          {"finite-samples", Level::contract, {"get"}, check_finite_samples},
          {"class-numbers", Level::contract, {"get", "extensions"}, check_class_numbers},
          {"starts-no-threads", Level::contract, {"get", "extensions"}, check_starts_no_threads},
          {"fingerprint", Level::contract, {"fields"}, check_fingerprint},
          {"repeats", Level::training, {"get"}, check_dataset_repeats},
          {"any-order", Level::training, {"repeats"}, check_any_order},
          {"threads", Level::training, {"any-order"}, check_threads},
          {"sample-lengths", Level::contract, {"fields", "extensions"}, check_lengths},
          {"sample-weights", Level::contract, {"fields", "extensions"}, check_weights}};
}

}  // namespace tenon::validation
