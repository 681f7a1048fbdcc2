#include "framework/validation/session/dataset_under_test.h"

#include <algorithm>
#include <set>

#include "framework/components/calls/ports.h"
#include "framework/support/compute/philox.h"
#include "framework/validation/session/check.h"

namespace tenon::validation {

namespace {

uint64_t seed_of(const Session& session, support::StreamPurpose purpose, int64_t number) {
  return support::derive_seed(session.seed, purpose, 1, static_cast<uint64_t>(number));
}

DatasetField read_field(const tenon_field* field, const std::string& what) {
  if (!field) throw Failed(what + " is null");
  if (field->size < TENON_SIZE_TO(tenon_field, doc) || field->size > 1 << 16)
    throw Failed(what + " declares a size of " + std::to_string(field->size) + " bytes; expected sizeof(tenon_field)");
  constexpr uint64_t kMaxLength = 1000;
  if (field->name.size == 0 || field->name.size > kMaxLength || !field->name.data) throw Failed(what + " has no name");
  DatasetField read{components::to_string(field->name), field->dtype, {}};
  if (components::dtype_bytes(field->dtype) == 0)
    throw Failed(read.name + " has the dtype " + std::to_string(field->dtype) + ", which does not exist");
  constexpr uint32_t kMaxDimensions = 64;
  if (field->ndim > kMaxDimensions || (field->ndim > 0 && !field->shape))
    throw Failed(read.name + " has ndim " + std::to_string(field->ndim) + " and no valid shape");
  if (field->ndim > 0) read.shape.assign(field->shape, field->shape + field->ndim);
  for (const int64_t extent : read.shape)
    if (extent != -1 && extent < 1)
      throw Failed(read.name + " has the shape " + components::to_string(components::exact_shape(read.shape)) +
                   "; expected extents of at least 1, or -1 where they vary");
  return read;
}

}  // namespace

DatasetUnderTest::DatasetUnderTest(Session& session) : subject_(session) {
  length_ = read_length();
  fields_ = read_fields();
}

int64_t DatasetUnderTest::looked_at() const { return std::min<int64_t>(length_, 64); }

int64_t DatasetUnderTest::read_length() {
  int64_t length = -1;
  subject_.call("length", [&] { return subject_.table().length(subject_.self(), &length); });
  if (length < 1) throw Failed("length returns " + std::to_string(length) + "; expected at least 1");
  return length;
}

std::vector<DatasetField> DatasetUnderTest::read_fields() {
  const tenon_field* const* fields = nullptr;
  uint64_t count = 0;
  subject_.call("fields", [&] { return subject_.table().fields(subject_.self(), &fields, &count); });
  constexpr uint64_t kMaxCount = 64;
  if (count == 0 || count > kMaxCount || !fields)
    throw Failed("fields returns " + std::to_string(count) + (fields ? "" : " and a null list") +
                 "; expected 1 to 64 fields");
  std::vector<DatasetField> read;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    read.push_back(read_field(fields[i], "field " + std::to_string(i)));
    if (!names.insert(read.back().name).second) throw Failed("two fields are called " + read.back().name);
  }
  return read;
}

void* DatasetUnderTest::open_worker(uint64_t worker_id) {
  void* worker = nullptr;
  if (subject_.table().open_worker)
    subject_.call(
        "open_worker",
        [&] {
          const uint64_t seed = seed_of(subject_.session(), support::StreamPurpose::worker, 0);
          return subject_.table().open_worker(subject_.self(), worker_id, seed, &worker);
        },
        "worker " + std::to_string(worker_id));
  return worker;
}

void DatasetUnderTest::close_worker(void* worker) {
  if (subject_.table().close_worker)
    subject_.call("close_worker", [&] {
      subject_.table().close_worker(subject_.self(), worker);
      return TENON_OK;
    });
}

tenon_sample DatasetUnderTest::sample(int64_t index) const {
  return {sizeof(tenon_sample), index, 1, seed_of(subject_.session(), support::StreamPurpose::sample, index)};
}

void DatasetUnderTest::get(void* worker, int64_t index, SampleSlots& slots) {
  const tenon_sample expected = sample(index);
  const tenon_sink sink = slots.sink();
  subject_.call(
      "get", [&] { return subject_.table().get(subject_.self(), worker, &expected, &sink); },
      "sample " + std::to_string(index));
}

void DatasetUnderTest::get_on_worker_thread(void* worker, int64_t index, SampleSlots& slots) {
  const tenon_sample expected = sample(index);
  const tenon_sink sink = slots.sink();
  components::call_plugin(
      subject_.session().component, "get",
      [&] { return subject_.table().get(subject_.self(), worker, &expected, &sink); },
      [&] { return "sample " + std::to_string(index) + ", on a worker thread"; });
}

Contents DatasetUnderTest::read(void* worker, int64_t index) {
  SampleSlots slots(fields_, std::byte{0});
  get(worker, index, slots);
  return slots.contents();
}

}  // namespace tenon::validation
