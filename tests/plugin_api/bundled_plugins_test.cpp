// Loads the bundled portable plugins as the host does, with a fake host that computes nothing.
#include <doctest/doctest.h>

#include <limits>

#include "tests/plugin_api/fake_host.h"
#include "tests/plugin_api/load_entry.h"

namespace bundled_plugins_test {

using namespace tenon::test;

namespace {

// A component of a plugin file, created with parameters.
template <class Table>
class Loaded {
 public:
  explicit Loaded(const std::string& name) {
    table = &table_of<Table>(find_component(host.open(load_entry(name)), name));
  }
  ~Loaded() {
    if (self) table->destroy(self);
  }

  void create(std::map<std::string, tenon_value> values) {
    const tenon_params params = {std::move(values)};
    REQUIRE(table->create(host.table(), &params, &self) == TENON_OK);
  }

  FakeHost host;
  const Table* table = nullptr;
  void* self = nullptr;
};

struct Mlp : Loaded<tenon_model> {
  Mlp() : Loaded("mlp") {
    const int64_t hidden[] = {5, 6};
    create({{"inputs", tenon_int(4)}, {"hidden", tenon_ints(hidden, 2)}, {"classes", tenon_int(3)}});
  }
};

struct Declared {
  std::string name;
  std::vector<int64_t> shape;
  double bound;
};

tenon_status declare(const tenon_builder* builder, const tenon_declaration* declaration, uint64_t* index) {
  auto& list = *static_cast<std::vector<Declared>*>(builder->context);
  CHECK(declaration->init == TENON_INIT_UNIFORM);
  CHECK(declaration->flags == TENON_TRAINABLE);
  CHECK(declaration->a == -declaration->b);
  *index = list.size();
  list.push_back({to_text(declaration->name),
                  std::vector<int64_t>(declaration->shape, declaration->shape + declaration->ndim), declaration->b});
  return TENON_OK;
}

struct EarlyStopping : Loaded<tenon_callback> {
  EarlyStopping() : Loaded("early_stopping") {}

  void create_monitoring(const std::string& mode, int64_t patience, double min_delta) {
    create({{"monitor", tenon_text("validation/loss", 15)},
            {"mode", tenon_text(mode.data(), mode.size())},
            {"patience", tenon_int(patience)},
            {"min_delta", tenon_float(min_delta)}});
  }

  // The number of validations after which it requests a stop, or 0 for never.
  size_t stops_after(const std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i];
      tenon_run run = {};
      run.size = sizeof run;
      run.context = &value;
      run.metric = [](const tenon_run* run, tenon_string, double* out) -> tenon_status {
        *out = *static_cast<double*>(run->context);
        return TENON_OK;
      };
      tenon_requests requests = {sizeof requests, 0, 0, {nullptr, 0}};
      CHECK(table->on_event(self, TENON_VALIDATION_END, &run, &requests) == TENON_OK);
      reason = to_text(requests.reason);
      if (requests.flags & TENON_REQUEST_STOP) return i + 1;
    }
    return 0;
  }

  std::string reason;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE_FIXTURE(Mlp, "mlp initialises its layers like torch.nn.Linear") {
  std::vector<Declared> declared;
  const tenon_builder builder = {sizeof builder, &declared, declare, nullptr};
  REQUIRE(table->build(self, &builder) == TENON_OK);
  REQUIRE(declared.size() == 6);
  CHECK(declared[0].name == "layers.0.weight");
  CHECK(declared[0].shape == std::vector<int64_t>{5, 4});
  CHECK(declared[0].bound == doctest::Approx(0.5));
  CHECK(declared[1].name == "layers.0.bias");
  CHECK(declared[1].shape == std::vector<int64_t>{5});
  CHECK(declared[1].bound == doctest::Approx(0.5));
  CHECK(declared[4].name == "layers.2.weight");
  CHECK(declared[4].shape == std::vector<int64_t>{3, 6});
}

TEST_CASE_FIXTURE(Mlp, "mlp flattens, then alternates linear layers with ReLU") {
  std::vector<Declared> declared;
  const tenon_builder builder = {sizeof builder, &declared, declare, nullptr};
  REQUIRE(table->build(self, &builder) == TENON_OK);
  std::vector<tenon_tensor*> weights;
  for (int i = 0; i < 6; ++i) weights.push_back(host.make_tensor({}));
  const tenon_frame frame = {sizeof frame, weights.data(), weights.size(), 1, 0, 1, 0, 0, 1, 0};
  tenon_tensor* input = host.make_tensor({2, 4});
  tenon_tensor* output = nullptr;
  REQUIRE(table->forward(self, &frame, &input, 1, &output, 1) == TENON_OK);
  std::vector<std::string> names;
  for (const Call& call : host.calls) names.push_back(call.op);
  CHECK(names == std::vector<std::string>{"aten::flatten.using_ints", "aten::linear", "aten::relu", "aten::linear",
                                          "aten::relu", "aten::linear"});
  CHECK(host.calls[5].args[1].as.p == weights[4]);
  CHECK(output == host.calls[5].result);
}

TEST_CASE_FIXTURE(Mlp, "mlp reports which parameter to set for another sample size") {
  tenon_tensor* input = host.make_tensor({2, 9});
  tenon_tensor* output = nullptr;
  const tenon_frame frame = {sizeof frame, nullptr, 0, 1, 0, 1, 0, 0, 1, 0};
  CHECK(table->forward(self, &frame, &input, 1, &output, 1) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "a sample of \"image\" has 9 values; expected 4; set params.inputs to 9");
}

TEST_CASE("early_stopping stops after validations without an improvement") {
  struct Case {
    const char* what;
    const char* mode;
    int64_t patience;
    double min_delta;
    std::vector<double> values;
    size_t stops_after;
    const char* reason;
  };
  for (const Case& one :
       {Case{"waits as many validations as its patience",
             "min",
             2,
             0,
             {3, 2, 2.5, 1, 1, 1},
             6,
             "validation/loss has not improved on 1 for 2 validations"},
        {"continues while the metric improves", "min", 1, 0, {3, 2, 1, 0.5}, 0, ""},
        {"higher is better", "max", 1, 0, {1, 2, 3, 2.9}, 4, "validation/loss has not improved on 3 for 1 validation"},
        {"ignores a change within min_delta",
         "min",
         2,
         0.5,
         {3, 2.6, 2.55, 1},
         3,
         "validation/loss has not improved on 3 for 2 validations"},
        {"NaN is no improvement",
         "min",
         2,
         0,
         {kNaN, 1, kNaN, kNaN},
         4,
         "validation/loss has not improved on 1 for 2 validations"},
        {"the metric has always been NaN",
         "min",
         2,
         0,
         {kNaN, kNaN},
         2,
         "validation/loss has been NaN for 2 validations"}}) {
    CAPTURE(one.what);
    EarlyStopping callback;
    callback.create_monitoring(one.mode, one.patience, one.min_delta);
    CHECK(callback.stops_after(one.values) == one.stops_after);
    CHECK(callback.reason == one.reason);
  }
}

}  // namespace bundled_plugins_test
