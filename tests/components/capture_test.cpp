// Tests how models and losses read the extension in capture.h.
#include <tenon/capture.h>

#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/model.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"

namespace capture_test {

using namespace tenon::components;
using tenon::config::ComponentKind;

namespace {

tenon_status create(const tenon_host*, const tenon_params*, void** self) {
  *self = nullptr;
  return TENON_OK;
}
void destroy(void*) {}

// A loss has only the input.
template <uint64_t port_count>
tenon_status ports(void*, const tenon_port* const** ports, uint64_t* count) {
  static const tenon_port input{sizeof(tenon_port), TENON_INPUT, 0, TENON_STRING("x"), TENON_STRING("N"), 0,
                                TENON_STRING("")};
  static const tenon_port output{sizeof(tenon_port), TENON_OUTPUT, 0, TENON_STRING("y"), TENON_STRING("N"), 0,
                                 TENON_STRING("")};
  static const tenon_port* const both[] = {&input, &output};
  *ports = both;
  *count = port_count;
  return TENON_OK;
}

constexpr tenon_model kModel{sizeof(tenon_model), create, destroy, ports<2>, nullptr, nullptr};
constexpr tenon_loss kLoss{sizeof(tenon_loss), create, destroy, ports<1>, nullptr, nullptr};
const PluginInfo kPlugin{{"test", "1.0", "MIT", ""}, "test.so", "", 1};

tenon_capture capture;  // the table of the components
int calls;

template <uint32_t result>
tenon_status answer(void*, uint32_t* is_capturable) {
  ++calls;
  *is_capturable = result;
  return TENON_OK;
}

const void* get_extension(tenon_string id) { return to_string(id) == TENON_CAPTURE ? &capture : nullptr; }

Component make_component(ComponentKind kind, const void* table) {
  return {{kind, "test", "", {}}, table, &kPlugin, get_extension};
}

bool is_model_capturable(const Component& component) { return Model(component, {}).is_capturable(); }
bool is_loss_capturable(const Component& component) { return Loss(component, {}).is_capturable(); }

}  // namespace

TEST_CASE("models and losses are captured only if they declare it") {
  install_libtorch();
  Component model = make_component(ComponentKind::model, &kModel);
  Component loss = make_component(ComponentKind::loss, &kLoss);
  capture = {sizeof capture, answer<1>};
  CHECK(is_model_capturable(model));
  CHECK(is_loss_capturable(loss));
  capture = {sizeof capture, answer<0>};
  CHECK_FALSE(is_model_capturable(model));
  CHECK_FALSE(is_loss_capturable(loss));

  model.get_extension = nullptr;
  loss.get_extension = [](tenon_string) -> const void* { return nullptr; };
  CHECK_FALSE(is_model_capturable(model));
  CHECK_FALSE(is_loss_capturable(loss));
}

TEST_CASE("a table that is cut short or has no function is ignored") {
  install_libtorch();
  const Component model = make_component(ComponentKind::model, &kModel);
  capture = {sizeof capture - 8, answer<1>};
  CHECK_FALSE(is_model_capturable(model));
  capture = {sizeof capture, nullptr};
  CHECK_FALSE(is_model_capturable(model));
}

TEST_CASE("is_capturable of the plugin is called once") {
  install_libtorch();
  const Component component = make_component(ComponentKind::model, &kModel);
  capture = {sizeof capture, answer<1>};
  calls = 0;
  const Model model(component, {});
  CHECK(model.is_capturable());
  CHECK(model.is_capturable());
  CHECK(calls == 1);
}

TEST_CASE("an error of is_capturable names the function") {
  install_libtorch();
  capture = {sizeof capture,
             [](void*, uint32_t*) { return host_table().fail(TENON_FAILED, to_tenon("the device is unknown")); }};
  std::string message;
  try {
    is_loss_capturable(make_component(ComponentKind::loss, &kLoss));
  } catch (const tenon::support::Error& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("capture.is_capturable") != std::string::npos);
  CHECK(message.find("the device is unknown") != std::string::npos);
}

}  // namespace capture_test
