// Tests ops.h in C style, and the C++ operators that use it.
#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/fake_host.h"

using namespace tenon::test;

namespace {

struct OperatorsFixture {
  OperatorsFixture() {
    host.open(tenon_plugin_open);
    // Otherwise the operators of the previous host would be reused.
    tenon_ops_open(host.table(), &tenon::detail::operators);
    tenon_ops_open(host.table(), &ops);
  }
  FakeHost host;
  tenon_ops ops;
  tenon_frame raw = {sizeof raw, nullptr, 0, 1, 0, 1, 0, 0, 1, 0};
  tenon::Frame frame{&raw};
  tenon_tensor* x = host.make_tensor({2, 3});
};

}  // namespace

TEST_CASE_FIXTURE(OperatorsFixture, "an operator is looked up once and called with its arguments") {
  tenon_calls calls = tenon_begin(&ops, &raw);
  tenon_tensor* flat = tenon_flatten(&calls, x, 1, -1);
  tenon_flatten(&calls, flat, 0, 1);
  CHECK(calls.status == TENON_OK);
  REQUIRE(host.calls.size() == 2);
  CHECK(host.calls[0].op == "aten::flatten.using_ints");
  CHECK(host.calls[0].args.at(0).as.p == x);
  CHECK(host.calls[0].args.at(1).as.i == 1);
  CHECK(host.calls[0].args.at(2).as.i == -1);
  CHECK(flat == host.calls[0].result);
  host.unknown_operator = "aten::flatten.using_ints";
  CHECK(tenon_flatten(&calls, x, 1, -1) != nullptr);
}

TEST_CASE_FIXTURE(OperatorsFixture, "after a failure further operators do nothing") {
  host.failing_operator = "aten::relu";
  tenon_calls calls = tenon_begin(&ops, &raw);
  tenon_tensor* result = tenon_sum(&calls, tenon_relu(&calls, x));
  CHECK(result == nullptr);
  CHECK(calls.status == TENON_FAILED);
  CHECK(host.calls.empty());
  CHECK(host.failure == "the host's operator failed");
}

TEST_CASE_FIXTURE(OperatorsFixture, "an operator that the host lacks returns NOT_FOUND") {
  host.unknown_operator = "aten::relu";
  tenon_calls calls = tenon_begin(&ops, &raw);
  CHECK(tenon_relu(&calls, x) == nullptr);
  CHECK(calls.status == TENON_NOT_FOUND);
}

TEST_CASE_FIXTURE(OperatorsFixture, "an absent bias is passed as an absent optional") {
  tenon_calls calls = tenon_begin(&ops, &raw);
  tenon_linear(&calls, x, x, nullptr);
  REQUIRE(host.calls.size() == 1);
  CHECK(host.calls[0].args.at(2).kind == TENON_VALUE_NONE);
}

TEST_CASE_FIXTURE(OperatorsFixture, "dimensions are counted from both ends, and checked") {
  tenon_calls calls = tenon_begin(&ops, &raw);
  CHECK(tenon_extent(&calls, x, 0) == 2);
  CHECK(tenon_extent(&calls, x, -1) == 3);
  CHECK(calls.status == TENON_OK);
  CHECK(tenon_extent(&calls, x, 2) == -1);
  CHECK(calls.status == TENON_INVALID_ARGUMENT);
}

TEST_CASE_FIXTURE(OperatorsFixture, "C++ operators call the host and return tensors of the same frame") {
  const tenon::Tensor left(x, &frame);
  const tenon::Tensor result = relu(left + left);
  REQUIRE(host.calls.size() == 2);
  CHECK(host.calls[0].op == "aten::add.Tensor");
  CHECK(host.calls[1].op == "aten::relu");
  CHECK(result.handle() == host.calls[1].result);
  CHECK(result.shape() == std::vector<int64_t>{2, 3});
}

TEST_CASE_FIXTURE(OperatorsFixture, "a C++ operator that fails throws") {
  host.failing_operator = "aten::relu";
  const tenon::Tensor input(x, &frame);
  CHECK_THROWS_AS(relu(input), tenon::HostError);
}

TEST_CASE_FIXTURE(OperatorsFixture, "any other operator is called by name") {
  tenon::Op gelu("aten::gelu");
  const tenon::Tensor input(x, &frame);
  const tenon::Tensor output = frame.call(gelu, {input, "tanh"});
  REQUIRE(host.calls.size() == 1);
  CHECK(output.handle() == host.calls[0].result);
  CHECK(host.calls[0].op == "aten::gelu");
  REQUIRE(host.calls[0].args.size() == 2);
  CHECK(host.calls[0].args[1].kind == TENON_VALUE_STRING);
}

TEST_CASE_FIXTURE(OperatorsFixture, "elements are read only as their element type") {
  const tenon::Tensor numbers(host.make_tensor({2}, {5, 6}), &frame);
  CHECK(numbers.data<int64_t>()[1] == 6);
  CHECK_THROWS_WITH_AS(numbers.data<float>(), "a tensor of int64 is read as float32", tenon::Error);
  CHECK_THROWS_WITH_AS(numbers.number(), "a tensor of 2 elements is read as one number", tenon::Error);
}

TEST_CASE_FIXTURE(OperatorsFixture, "a kept tensor holds one reference until it is destroyed") {
  {
    tenon::KeptTensor kept{tenon::Tensor(x, &frame)};
    const tenon::KeptTensor moved = std::move(kept);
    CHECK(x->owners == 2);
    CHECK(moved.in(frame).handle() == x);
  }
  CHECK(x->owners == 1);
}
