// What the host reads from a model's extension tenon/decoding.h.
#include "framework/components/kinds/model.h"

#include <torch/types.h>

#include <functional>

#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

namespace decoding_test {

using namespace tenon::components;

namespace {

// A model inside the test. It returns what the test sets.
tenon_decoding_info info;
std::vector<at::Tensor> returned;  // scores, then the cache

tenon_status make_nothing(const tenon_host*, const tenon_params*, void** self) {
  *self = nullptr;
  return TENON_OK;
}
void destroy_nothing(void*) {}

tenon_status list_token_ports(void*, const tenon_port* const** ports, uint64_t* count) {
  static const tenon_port tokens{sizeof(tenon_port), TENON_INPUT, 0, TENON_STRING("tokens"), TENON_STRING("N,T"), 0,
                                 TENON_STRING("")};
  static const tenon_port scores{sizeof(tenon_port), TENON_OUTPUT, 0, TENON_STRING("scores"), TENON_STRING("N,T,5"), 0,
                                 TENON_STRING("")};
  static const tenon_port* const both[] = {&tokens, &scores};
  *ports = both;
  *count = 2;
  return TENON_OK;
}

tenon_status build_nothing(void*, const tenon_builder*) { return TENON_OK; }

tenon_status no_forward(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor**, uint64_t) {
  return TENON_FAILED;
}

tenon_status describe_decoding(void*, const tenon_decoding_info** out) {
  *out = info.size ? &info : nullptr;
  return TENON_OK;
}

tenon_status decode(void*, const tenon_frame* frame, tenon_tensor* const*, uint64_t, tenon_tensor* const*,
                    tenon_tensor** next, uint64_t count, tenon_tensor** scores) {
  const auto hand_out = [&](const at::Tensor& tensor) {
    return tensor.defined() ? Frame::of(frame).keep(tensor) : nullptr;
  };
  *scores = hand_out(returned[0]);
  for (uint64_t i = 0; i < count; ++i) next[i] = hand_out(returned[i + 1]);
  return TENON_OK;
}

const tenon_decoding kDecoding{sizeof(tenon_decoding), describe_decoding, decode};
const void* find_decoding(tenon_string id) { return to_string(id) == TENON_DECODING ? &kDecoding : nullptr; }

constexpr tenon_model kContinued{sizeof(tenon_model), make_nothing,  destroy_nothing,
                                 list_token_ports,    build_nothing, no_forward};
const PluginInfo kTest{{"test", "1.0", "MIT", ""}, "test.so", "", 1};
const Component kContinuedModel{
    {tenon::config::ComponentKind::model, "continued", "", {}}, &kContinued, &kTest, find_decoding};

void set_info(const char* tokens, const char* scores, uint64_t cache_count, int64_t context) {
  info = {sizeof info, to_tenon(tokens), to_tenon(scores), cache_count, context};
}

std::string message_of(const std::function<void()>& body) {
  return tenon::find_error(tenon::support::ErrorKind::plugin, body);
}

std::string refusal() {
  return message_of([] { Model(kContinuedModel, {}); });
}

std::string refusal_of(std::vector<at::Tensor> results) {
  returned = std::move(results);
  return message_of([] {
    const Model model(kContinuedModel, {});
    model.decode({}, {torch::ones({2, 3}, torch::kInt64)}, {});
  });
}

}  // namespace

TEST_CASE("the description of decoding is read, with the size of the vocabulary") {
  install_libtorch();
  set_info("tokens", "scores", 3, 9);
  const Model model(kContinuedModel, {});
  REQUIRE(model.decoding());
  CHECK(model.decoding()->tokens == 0);
  CHECK(model.decoding()->scores == 0);
  CHECK(model.decoding()->cache_count == 3);
  CHECK(model.decoding()->context == 9);
  CHECK(model.decoding()->vocabulary == 5);
}

TEST_CASE("a wrong description of decoding is an error of the plugin") {
  install_libtorch();
  set_info("words", "scores", 1, 0);
  CHECK(refusal() ==
        "model \"continued\" of plugin test 1.0, decoding.describe: names \"words\", which is no input; "
        "expected the name of one");
  set_info("tokens", "tokens", 1, 0);
  CHECK(refusal().find("names \"tokens\", which is no output") != std::string::npos);
  set_info("tokens", "scores", 0, 0);
  CHECK(refusal().find("returns a cache of 0 tensors and a context of 0; expected at least 1 tensor") !=
        std::string::npos);
  set_info("tokens", "scores", 1, -1);
  CHECK(refusal().find("a context of -1") != std::string::npos);
  info.size = 8;
  CHECK(refusal().find("returns a struct of 8 bytes; expected sizeof(tenon_decoding_info)") != std::string::npos);
  info = {};
  CHECK(refusal().find("returns null; expected a description") != std::string::npos);
}

TEST_CASE("wrong results of decoding are errors of the plugin") {
  install_libtorch();
  set_info("tokens", "scores", 1, 0);
  const at::Tensor scores = torch::zeros({2, 5}), cache = torch::zeros({2, 4});
  CHECK(refusal_of({scores, cache}) == "accepted");
  CHECK(refusal_of({{}, cache}).find("decoding.forward: returned no scores (null)") != std::string::npos);
  CHECK(refusal_of({scores, {}}).find("returned no tensor 0 of the cache (null)") != std::string::npos);
  CHECK(refusal_of({torch::zeros({2, 6}), cache}).find("returned scores as float32 [2, 6]; expected [2, 5]") !=
        std::string::npos);
  CHECK(refusal_of({torch::zeros({2, 3, 5}), cache}).find("returned scores as float32 [2, 3, 5]") != std::string::npos);
  CHECK(refusal_of({scores, torch::zeros({1, 2, 4})})
            .find("returned tensor 0 of the cache as float32 [1, 2, 4]; expected dimension 0 to be the batch, 2") !=
        std::string::npos);
}

}  // namespace decoding_test
