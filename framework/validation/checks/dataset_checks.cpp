#include "framework/validation/checks/dataset_checks.h"

#include <barrier>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>

#include "framework/components/calls/ports.h"
#include "framework/validation/session/dataset_under_test.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

std::string describe_fields(const std::vector<DatasetField>& fields) {
  std::string text;
  for (const DatasetField& field : fields)
    text += (text.empty() ? "" : "; ") + field.name + ": " + components::dtype_name(field.dtype) + " " +
            components::to_string(components::exact_shape(field.shape));
  return text;
}

std::string sample_name(int64_t index) { return "sample " + std::to_string(index); }

// A scope with one open worker.
class OpenWorker {
 public:
  explicit OpenWorker(DatasetUnderTest& dataset, uint64_t id = 0)
      : dataset_(dataset), worker_(dataset.open_worker(id)) {}
  OpenWorker(const OpenWorker&) = delete;
  OpenWorker& operator=(const OpenWorker&) = delete;
  ~OpenWorker() {
    try {
      dataset_.close_worker(worker_);
    } catch (const std::exception&) {
      // The check `workers` reports it.
    }
  }
  void* get() const { return worker_; }

 private:
  DatasetUnderTest& dataset_;
  void* worker_;
};

void check_length(Session& session) {
  Subject<tenon_dataset> subject(session);
  int64_t lengths[2] = {-1, -1};
  for (int64_t& length : lengths)
    subject.call("length", [&] { return subject.table().length(subject.self(), &length); });
  if (lengths[0] < 1) throw Failed("length returns " + std::to_string(lengths[0]) + "; expected at least 1");
  if (lengths[0] != lengths[1])
    throw Failed("length returns " + std::to_string(lengths[0]) + ", then " + std::to_string(lengths[1]) +
                 "; expected the same each time");
}

void check_fields(Session& session) {
  DatasetUnderTest dataset(session);
  const std::string first = describe_fields(dataset.fields());
  const std::string second = describe_fields(dataset.read_fields());
  if (first != second) throw Failed("fields returns " + first + ", then " + second + "; expected the same each time");
}

void check_workers(Session& session) {
  if (!static_cast<const tenon_dataset*>(session.component.table)->open_worker) throw Skipped("it has no open_worker");
  DatasetUnderTest dataset(session);
  void* const first = dataset.open_worker(0);
  void* const second = dataset.open_worker(1);
  dataset.close_worker(first);
  void* const third = dataset.open_worker(0);
  dataset.close_worker(third);
  dataset.close_worker(second);
}

void check_get(Session& session) {
  DatasetUnderTest dataset(session);
  const OpenWorker worker(dataset);
  for (int64_t index = 0; index < dataset.looked_at(); ++index) {
    SampleSlots slots(dataset.fields(), std::byte{0});
    try {
      dataset.get(worker.get(), index, slots);
    } catch (const std::exception&) {
      if (slots.error().empty()) throw;
    }
    if (!slots.error().empty()) throw Failed("get of " + sample_name(index) + " " + slots.error());
    if (const std::string missing = slots.unrequested_fields(); !missing.empty())
      throw Failed("get of " + sample_name(index) + " did not request the slot of " + missing +
                   "; expected each field once");
  }
}

void check_stays_in_slot(Session& session) {
  DatasetUnderTest dataset(session);
  const OpenWorker worker(dataset);
  for (int64_t index = 0; index < dataset.looked_at(); ++index) {
    SampleSlots slots(dataset.fields(), std::byte{0});
    dataset.get(worker.get(), index, slots);
    if (const std::string outside = slots.fields_written_outside(); !outside.empty())
      throw Failed("get of " + sample_name(index) + " wrote outside of the slot of " + outside);
  }
}

// A byte that keeps both fill patterns was never written.
void check_fills_slot(Session& session) {
  constexpr std::byte kFirst{0xA5};
  constexpr std::byte kSecond{0x5A};
  DatasetUnderTest dataset(session);
  const OpenWorker worker(dataset);
  for (int64_t index = 0; index < dataset.looked_at(); ++index) {
    SampleSlots first(dataset.fields(), kFirst);
    SampleSlots second(dataset.fields(), kSecond);
    dataset.get(worker.get(), index, first);
    dataset.get(worker.get(), index, second);
    const Contents one = first.contents();
    const Contents other = second.contents();
    for (size_t field = 0; field < one.size(); ++field)
      for (size_t i = dataset.fields()[field].shape.size() * sizeof(int64_t);
           i < std::min(one[field].size(), other[field].size()); ++i)
        if (one[field][i] == kFirst && other[field][i] == kSecond) {
          const size_t element = (i - dataset.fields()[field].shape.size() * sizeof(int64_t)) /
                                 components::dtype_bytes(dataset.fields()[field].dtype);
          throw Failed("get of " + sample_name(index) + " left element " + std::to_string(element) + " of " +
                       dataset.fields()[field].name + " unwritten; the host does not clear slots");
        }
  }
}

// Whether the element at `bytes` is neither NaN nor infinite.
bool is_finite(const std::byte* bytes, int32_t dtype) {
  if (dtype == TENON_FLOAT64) {
    double number = 0;
    std::memcpy(&number, bytes, sizeof number);
    return std::isfinite(number);
  }
  if (dtype == TENON_FLOAT32) {
    float number = 0;
    std::memcpy(&number, bytes, sizeof number);
    return std::isfinite(number);
  }
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  const uint16_t exponent = dtype == TENON_FLOAT16 ? 0x7C00 : 0x7F80;
  return (bits & exponent) != exponent;
}

void check_finite_samples(Session& session) {
  DatasetUnderTest dataset(session);
  const OpenWorker worker(dataset);
  for (int64_t index = 0; index < dataset.looked_at(); ++index) {
    const Contents sample = dataset.read(worker.get(), index);
    for (size_t field = 0; field < sample.size(); ++field) {
      const DatasetField& of = dataset.fields()[field];
      if ((TENON_DTYPE_BIT(of.dtype) & TENON_ANY_FLOAT) == 0) continue;
      const size_t step = components::dtype_bytes(of.dtype);
      for (size_t i = of.shape.size() * sizeof(int64_t); i < sample[field].size(); i += step)
        if (!is_finite(sample[field].data() + i, of.dtype)) {
          session.warn("get of " + sample_name(index) + " returns NaN or infinity in " + of.name);
          return;
        }
    }
  }
}

std::vector<Contents> read_in_order(DatasetUnderTest& dataset) {
  const OpenWorker worker(dataset);
  std::vector<Contents> samples;
  for (int64_t index = 0; index < dataset.looked_at(); ++index) samples.push_back(dataset.read(worker.get(), index));
  return samples;
}

void check_dataset_repeats(Session& session) {
  DatasetUnderTest dataset(session);
  const std::vector<Contents> first = read_in_order(dataset);
  const std::vector<Contents> second = read_in_order(dataset);
  for (size_t i = 0; i < first.size(); ++i)
    if (first[i] != second[i])
      throw Failed("get returns different bytes for " + sample_name(static_cast<int64_t>(i)) +
                   " the second time; expected them to depend only on the sample's index and seed");
}

void check_any_order(Session& session) {
  std::vector<Contents> expected;
  {
    DatasetUnderTest dataset(session);
    expected = read_in_order(dataset);
  }
  DatasetUnderTest other(session);
  const OpenWorker worker(other);
  for (int64_t index = other.looked_at() - 1; index >= 0; --index)
    if (other.read(worker.get(), index) != expected.at(static_cast<size_t>(index)))
      throw Failed(
          "get returns different bytes for " + sample_name(index) +
          " when the samples are read from the last to the first; expected them to depend only on index and seed");
}

// Reads samples on one of several threads and records the first difference; empty: none.
class ConcurrentReader {
 public:
  ConcurrentReader(DatasetUnderTest& dataset, const std::vector<Contents>& expected, int64_t number)
      : dataset_(dataset), expected_(expected), number_(number) {}

  void read(void* worker, std::barrier<>& start) {
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
      start.arrive_and_wait();
      for (int64_t i = 0; i < dataset_.looked_at() && difference_.empty(); ++i)
        compare(worker, (i + number_) % dataset_.looked_at());
    }
  }
  const std::string& difference() const { return difference_; }

 private:
  void compare(void* worker, int64_t index) {
    try {
      SampleSlots slots(dataset_.fields(), std::byte{0});
      dataset_.get_on_worker_thread(worker, index, slots);
      if (slots.contents() != expected_.at(static_cast<size_t>(index)))
        difference_ = "get returns different bytes for " + sample_name(index) + " while other threads call it";
    } catch (const std::exception& error) {
      difference_ = error.what();
    }
  }

  DatasetUnderTest& dataset_;
  const std::vector<Contents>& expected_;
  int64_t number_;
  std::string difference_;
};

void check_threads(Session& session) {
  constexpr int64_t kThreads = 4;
  DatasetUnderTest dataset(session);
  const std::vector<Contents> expected = read_in_order(dataset);
  std::vector<ConcurrentReader> readers;
  for (int64_t i = 0; i < kThreads; ++i) readers.emplace_back(dataset, expected, i);
  std::barrier<> start(kThreads);
  record_call("get", "on four threads at once");
  {
    std::vector<void*> workers;
    for (int64_t i = 0; i < kThreads; ++i) workers.push_back(dataset.open_worker(static_cast<uint64_t>(i)));
    record_call("get", "on four threads at once");
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] { readers[static_cast<size_t>(i)].read(workers[static_cast<size_t>(i)], start); });
    threads.clear();
    for (void* worker : workers) dataset.close_worker(worker);
  }
  for (const ConcurrentReader& reader : readers)
    if (!reader.difference().empty()) throw Failed(reader.difference() + "; expected the same as on one thread");
}

void check_fingerprint(Session& session) {
  const auto& table = *static_cast<const tenon_dataset*>(session.component.table);
  if (!TENON_HAS(&table, tenon_dataset, fingerprint) || !table.fingerprint) throw Skipped("it has no fingerprint");
  uint64_t numbers[2] = {0, 0};
  for (uint64_t& number : numbers) {
    Subject<tenon_dataset> subject(session);
    subject.call("fingerprint", [&] { return subject.table().fingerprint(subject.self(), &number); });
  }
  if (numbers[0] != numbers[1])
    throw Failed("fingerprint returns " + std::to_string(numbers[0]) + ", then " + std::to_string(numbers[1]) +
                 " for another instance of the same data; expected equal numbers");
}

Check make_dataset_check(const char* name, Level level, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, level, Check::Of::kind, config::ComponentKind::dataset, std::move(needs), run};
}

}  // namespace

void use_dataset(Session& session) {
  DatasetUnderTest dataset(session);
  const auto& table = dataset.subject().table();
  void* const worker = dataset.open_worker(0);
  for (int64_t index = 0; index < std::min<int64_t>(dataset.looked_at(), 4); ++index) dataset.read(worker, index);
  dataset.close_worker(worker);
  uint64_t number = 0;
  if (TENON_HAS(&table, tenon_dataset, fingerprint) && table.fingerprint)
    dataset.subject().call("fingerprint", [&] { return table.fingerprint(dataset.subject().self(), &number); });
  dataset.subject().destroy();
}

std::vector<Check> dataset_checks() {
  const std::vector<std::string> read{"length", "fields", "workers"};
  return {make_dataset_check("length", Level::contract, {"create"}, check_length),
          make_dataset_check("fields", Level::contract, {"length"}, check_fields),
          make_dataset_check("workers", Level::contract, {"fields"}, check_workers),
          make_dataset_check("get", Level::contract, read, check_get),
          make_dataset_check("stays-in-slot", Level::contract, {"get"}, check_stays_in_slot),
          make_dataset_check("fills-slot", Level::contract, {"get"}, check_fills_slot),
          make_dataset_check("finite-samples", Level::contract, {"get"}, check_finite_samples),
          make_dataset_check("fingerprint", Level::contract, {"create"}, check_fingerprint),
          make_dataset_check("repeats", Level::training, {"get"}, check_dataset_repeats),
          make_dataset_check("any-order", Level::training, {"repeats"}, check_any_order),
          make_dataset_check("threads", Level::training, {"any-order"}, check_threads)};
}

}  // namespace tenon::validation
