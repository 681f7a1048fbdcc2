// What the host reads from a model's extension tenon/draft/results.h.
#include <torch/types.h>

#include <functional>

#include "framework/components/kinds/model.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

namespace model_results_test {

using namespace tenon::components;

namespace {

// A model inside the test. It returns what the test sets.
std::vector<tenon_result> declared;
std::vector<const tenon_result*> pointers;
std::vector<at::Tensor> returned;  // values, then lengths

tenon_status make_nothing(const tenon_host*, const tenon_params*, void** self) {
  *self = nullptr;
  return TENON_OK;
}
void destroy_nothing(void*) {}

tenon_status list_ports(void*, const tenon_port* const** ports, uint64_t* count) {
  static const tenon_port image{sizeof(tenon_port), TENON_INPUT, 0, TENON_STRING("image"), TENON_STRING("N,3,H,W"), 0,
                                TENON_STRING("")};
  static const tenon_port heat{sizeof(tenon_port), TENON_OUTPUT, 0, TENON_STRING("heat"), TENON_STRING("N,5"), 0,
                               TENON_STRING("")};
  static const tenon_port* const both[] = {&image, &heat};
  *ports = both;
  *count = 2;
  return TENON_OK;
}

tenon_status build_nothing(void*, const tenon_builder*) { return TENON_OK; }

tenon_status no_forward(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor**, uint64_t) {
  return TENON_FAILED;
}

tenon_status list_results(void*, const tenon_result* const** results, uint64_t* count) {
  pointers.clear();
  for (const tenon_result& one : declared) pointers.push_back(&one);
  *results = pointers.data();
  *count = pointers.size();
  return TENON_OK;
}

tenon_status compute(void*, const tenon_frame* frame, tenon_tensor* const*, uint64_t, tenon_tensor** values,
                     tenon_tensor** lengths, uint64_t count) {
  const auto hand_out = [&](const at::Tensor& tensor) {
    return tensor.defined() ? Frame::of(frame).keep(tensor) : nullptr;
  };
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = hand_out(returned[i]);
    lengths[i] = hand_out(returned[count + i]);
  }
  return TENON_OK;
}

const tenon_results kResults{sizeof(tenon_results), list_results, compute};
const void* find_results(tenon_string id) { return to_string(id) == TENON_RESULTS ? &kResults : nullptr; }

constexpr tenon_model kTable{sizeof(tenon_model), make_nothing, destroy_nothing, list_ports, build_nothing, no_forward};
const PluginInfo kTest{{"test", "1.0", "MIT", ""}, "test.so", "", 1};
const Component kModel{{tenon::config::ComponentKind::model, "detector", "", {}}, &kTable, &kTest, find_results};

void declare(const char* name, uint32_t role, bool is_list, const char* image, const char* classes) {
  declared.push_back({sizeof(tenon_result), to_tenon(name), role, is_list ? 1U : 0U, to_tenon(image), to_tenon(classes),
                      to_tenon("")});
}

std::string message_of(const std::function<void()>& body) {
  const std::string message = tenon::find_error(tenon::support::ErrorKind::plugin, body);
  const std::string begin = "model \"detector\" of plugin test 1.0, results.";
  return message.starts_with(begin) ? message.substr(begin.size()) : message;
}

std::string refusal_of(const char* name, uint32_t role, const char* image, const char* classes) {
  declared.clear();
  declare(name, role, true, image, classes);
  return message_of([] { Model(kModel, {}); });
}

std::string refusal_of(std::vector<at::Tensor> tensors) {
  returned = std::move(tensors);
  return message_of([] { Model(kModel, {}).compute_results({}, {torch::zeros({2, 5})}); });
}

}  // namespace

TEST_CASE("wrong descriptions of results are errors of the plugin") {
  install_libtorch();
  declared.clear();
  CHECK(message_of([] { Model(kModel, {}); }) == "results: returns 0 results, which are null; expected 1 to 1024");
  CHECK(refusal_of("heat", 0, "", "") ==
        "results: names a result \"heat\"; expected a name in lower_snake_case that no other result and no output has");
  CHECK(refusal_of("boxes", 7, "image", "") == "results: boxes has the role 7, which does not exist");
  CHECK(refusal_of("boxes", TENON_FIELD_BOXES, "picture", "") ==
        "results: boxes has the image \"picture\"; expected the name of an input");
  CHECK(refusal_of("boxes", TENON_FIELD_BOXES, "image", "kinds") ==
        "results: boxes has the classes \"kinds\"; expected the name of a result");
  CHECK(refusal_of("boxes", TENON_FIELD_BOXES, "image", "") == "accepted");
}

TEST_CASE("wrong results are errors of the plugin") {
  install_libtorch();
  declared.clear();
  declare("boxes", TENON_FIELD_BOXES, true, "image", "");
  declare("best", TENON_FIELD_NUMBERS, false, "", "");
  const at::Tensor boxes = torch::zeros({2, 3, 4}), best = torch::zeros({2}), lengths = torch::tensor({3, 0});
  CHECK(refusal_of({boxes, best, lengths, {}}) == "accepted");
  CHECK(refusal_of({boxes, {}, lengths, {}}) == "compute: best: returned nothing (null)");
  CHECK(refusal_of({torch::zeros({2, 3, 5}), best, lengths, {}}) ==
        "compute: boxes: returned float32 [2, 3, 5]; expected floating-point numbers [2, K, ..., 4]");
  CHECK(refusal_of({boxes, torch::zeros({3}), lengths, {}}) ==
        "compute: best: returned float32 [3]; expected [2, ...]");
  CHECK(refusal_of({boxes, best, {}, {}}) ==
        "compute: boxes: returned no lengths; expected the number of rows of each sample");
  CHECK(refusal_of({boxes, best, lengths, lengths}) ==
        "compute: best: returned lengths; expected none, because it is no list");
  CHECK(refusal_of({boxes, best, torch::zeros({2}), {}}) ==
        "compute: boxes: returned lengths as float32 [2]; expected int64 [2]");
  CHECK(refusal_of({boxes, best, torch::tensor({4, 0}), {}}) ==
        "compute: boxes: returned a length outside of 0 to 3, its number of rows");
}

}  // namespace model_results_test
