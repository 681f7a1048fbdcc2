#!/usr/bin/env python3
"""Prints the first output of a model for numbers, without PyTorch: predict.py LIBRARY MODEL.tenon NUMBER..."""

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p, sizeof


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("size", c_uint64), *fields]})


def members(kind, names):
    return [(name, kind) for name in names.split()]


# The layouts of tenon/draft/predictor.h.
Text = type("Text", (ctypes.Structure,), {"_fields_": [("data", c_char_p), ("size", c_uint64)]})
Options = struct("Options", ("model", Text), ("plugins", c_void_p), ("plugin_count", c_uint64),
                 *members(c_uint32, "threads concurrency flags reserved"), ("libtorch", Text), *members(c_void_p, "log context"))
Value = struct("Value", *members(c_uint32, "kind pixels"), ("data", c_void_p), ("byte_count", c_uint64),
               ("shape", c_void_p), *members(c_uint32, "ndim reserved"), ("row_bytes", c_int64), ("cells", c_void_p),
               ("cell_count", c_uint64))
Request = struct("Request", ("values", c_void_p), *members(c_uint64, "value_count sample_count top_k"))
Output = struct("Output", ("name", Text), ("dtype", c_int32), ("ndim", c_uint32), ("shape", POINTER(c_int64)),
                ("elements", POINTER(ctypes.c_float)), ("byte_count", c_uint64), ("row_counts", c_void_p))
Prediction = struct("Prediction", ("sample_count", c_uint64), ("outputs", POINTER(POINTER(Output))))

library = ctypes.CDLL(sys.argv[1])
library.tenon_predictor_error.restype = c_char_p
library.tenon_prediction_free.argtypes = library.tenon_predictor_close.argtypes = [c_void_p]
predictor, prediction = c_void_p(), POINTER(Prediction)()
model = sys.argv[2].encode()
options = Options(size=sizeof(Options), model=Text(model, len(model)), threads=1)
if library.tenon_predictor_open(byref(options), byref(predictor)) != 0:
    sys.exit(library.tenon_predictor_error().decode())
numbers = (ctypes.c_float * len(sys.argv[3:]))(*map(float, sys.argv[3:]))
value = Value(size=sizeof(Value), kind=1, data=ctypes.addressof(numbers), byte_count=sizeof(numbers))
values = (POINTER(Value) * 1)(ctypes.pointer(value))
request = Request(size=sizeof(Request), values=ctypes.addressof(values), value_count=1, sample_count=1)
if library.tenon_predictor_run(predictor, byref(request), byref(prediction)) != 0:
    sys.exit(library.tenon_predictor_error().decode())
output = prediction.contents.outputs[0].contents
print(*(f"{number:.6g}" for number in output.elements[:output.byte_count // 4]))
library.tenon_prediction_free(prediction)
library.tenon_predictor_close(predictor)
