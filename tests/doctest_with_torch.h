// Includes doctest together with LibTorch. Both define the names CHECK and toString.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

// LibTorch's CHECK would end the process at the first failure.
#undef CHECK
// c10::toString(ScalarType) is found before doctest's toString and returns a char pointer. This macro converts the
// result to a doctest::String.
#define DOCTEST_CONFIG_DOUBLE_STRINGIFY
#include <doctest/doctest.h>
