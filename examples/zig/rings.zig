//! A plugin in Zig: a dataset of noisy points in two rings, and the cross entropy.

const std = @import("std");
const c = @import("tenon"); // the headers, translated by `zig translate-c`

const Status = c.tenon_status;
const Self = ?*anyopaque; // an instance of a component

// ---- Dataset --------------------------------------------------------------------------------------------------------

const Rings = struct { samples: i64, seed: i64, noise: f64 };

const rings_params = [_][*c]const c.tenon_param{
    &param(c.TENON_PARAM_INT, "samples", "1000", "[2, inf)", "number of points; an even number"),
    &param(c.TENON_PARAM_INT, "seed", "0", "[0, inf)", "another seed gives other points"),
    &param(c.TENON_PARAM_FLOAT, "noise", "0.2", "[0, inf)", "standard deviation of the noise; the radii are 1 and 2"),
};

fn createRings(host: [*c]const c.tenon_host, params: ?*const c.tenon_params, self: [*c]Self) callconv(.c) Status {
    var rings: Rings = undefined;
    var status = c.tenon_read_int(host, params, "samples", &rings.samples);
    if (status == c.TENON_OK) status = c.tenon_read_int(host, params, "seed", &rings.seed);
    if (status == c.TENON_OK) status = c.tenon_read_float(host, params, "noise", &rings.noise);
    if (status != c.TENON_OK) return status;
    if (@rem(rings.samples, 2) != 0) { // the range of a parameter cannot express this
        const message = "samples is odd; expected an even number, because each ring has half of the points";
        return c.tenon_fail_text(host, c.TENON_INVALID_ARGUMENT, message);
    }
    return c.tenon_new_instance(host, &rings, @sizeOf(Rings), self);
}

fn length(self: Self, samples: [*c]i64) callconv(.c) Status {
    samples.* = @as(*const Rings, @ptrCast(@alignCast(self))).samples;
    return c.TENON_OK;
}

const fields = [_][*c]const c.tenon_field{
    &sized(c.tenon_field{ .name = text("point"), .dtype = c.TENON_FLOAT32, .ndim = 1, .shape = &[_]i64{2} }),
    &sized(c.tenon_field{ .name = text("label"), .dtype = c.TENON_INT64, .doc = text("1: outer ring") }),
};

/// Called on several threads concurrently. The points are the same in every epoch, so they depend on the index alone.
fn get(self: Self, _: Self, sample: [*c]const c.tenon_sample, sink: [*c]const c.tenon_sink) callconv(.c) Status {
    const rings: *const Rings = @ptrCast(@alignCast(self));
    var memory: [fields.len]?*anyopaque = undefined;
    for (fields, &memory, 0..) |field, *slot, index| {
        const status = sink.*.slot.?(sink, index, field.*.shape, field.*.ndim, slot);
        if (status != c.TENON_OK) return status;
    }
    const point: *[2]f32 = @ptrCast(@alignCast(memory[0]));
    const label: *i64 = @ptrCast(@alignCast(memory[1]));

    var random = c.tenon_random_start(@intCast(rings.seed), @intCast(sample.*.index));
    label.* = @rem(sample.*.index, 2);
    const radius: f64 = @floatFromInt(1 + label.*);
    const angle = 2 * std.math.pi * c.tenon_random_uniform(&random);
    point[0] = @floatCast(radius * @cos(angle) + rings.noise * c.tenon_random_normal(&random));
    point[1] = @floatCast(radius * @sin(angle) + rings.noise * c.tenon_random_normal(&random));
    return c.TENON_OK;
}

const rings_table = sized(c.tenon_dataset{
    .create = createRings,
    .destroy = c.tenon_free_instance,
    .length = length,
    .fields = List(fields).get,
    .get = get,
});

// ---- Loss -----------------------------------------------------------------------------------------------------------

/// The operators that the plugin calls. `host validate` reports an operator that is missing here.
const operators = [_]c.tenon_string{text("aten::cross_entropy_loss")};

fn createLoss(host: [*c]const c.tenon_host, _: ?*const c.tenon_params, self: [*c]Self) callconv(.c) Status {
    var ops: c.tenon_ops = undefined;
    c.tenon_ops_open(host, &ops);
    return c.tenon_new_instance(host, &ops, @sizeOf(c.tenon_ops), self);
}

const ports = [_][*c]const c.tenon_port{
    &sized(c.tenon_port{ .name = text("logits"), .shape = text("N,C"), .dtypes = c.TENON_ANY_FLOAT }),
    &sized(c.tenon_port{ .name = text("target"), .shape = text("N"), .dtypes = c.TENON_DTYPE_BIT(c.TENON_INT64) }),
};

fn forward(
    self: Self,
    frame: [*c]const c.tenon_frame,
    inputs: [*c]const ?*c.tenon_tensor,
    _: u64,
    result: [*c]c.tenon_loss_result,
) callconv(.c) Status {
    var calls = c.tenon_begin(@ptrCast(@alignCast(self)), frame);
    result.*.loss = c.tenon_cross_entropy_loss(&calls, inputs[0], inputs[1], null, c.TENON_REDUCTION_MEAN, -100, 0);
    result.*.weight = @floatFromInt(c.tenon_extent(&calls, inputs[0], 0)); // the mean is over the samples
    return calls.status; // that of the first call that failed
}

const loss_table = sized(c.tenon_loss{
    .create = createLoss,
    .destroy = c.tenon_free_instance,
    .ports = List(ports).get,
    .forward = forward,
});

// ---- Description ----------------------------------------------------------------------------------------------------

const components = [_][*c]const c.tenon_component{
    &sized(c.tenon_component{
        .kind = c.TENON_DATASET,
        .id = text("rings"),
        .doc = text("noisy points in two rings"),
        .params = &rings_params,
        .param_count = rings_params.len,
        .table = &rings_table,
    }),
    &sized(c.tenon_component{
        .kind = c.TENON_LOSS,
        .id = text("zig_cross_entropy"),
        .doc = text("cross entropy, mean over the samples"),
        .table = &loss_table,
    }),
};

const plugin = sized(c.tenon_plugin{
    .id = text("zig_example"),
    .version = text("1.0.0"),
    .license = text("Apache-2.0"),
    .doc = text("A dataset and a loss, in Zig."),
    .components = &components,
    .component_count = components.len,
    .operators = &operators,
    .operator_count = operators.len,
});

/// The only exported function.
export fn tenon_plugin_open(_: *const c.tenon_offer, reply: *c.tenon_reply) Status {
    reply.* = .{ .abi_min = c.TENON_TARGET_ABI, .abi_max = c.TENON_ABI_CURRENT, .plugin = &plugin };
    return c.TENON_OK;
}

// ---- The macros of tenon/describe.h, which translate-c omits --------------------------------------------------------

fn text(literal: []const u8) c.tenon_string {
    return .{ .data = literal.ptr, .size = literal.len };
}

fn sized(value: anytype) @TypeOf(value) {
    var copy = value;
    copy.size = @sizeOf(@TypeOf(value));
    return copy;
}

fn param(kind: u32, name: []const u8, default: []const u8, range: []const u8, doc: []const u8) c.tenon_param {
    return .{
        .size = @sizeOf(c.tenon_param),
        .name = text(name),
        .type = kind,
        .default_value = text(default),
        .range = text(range),
        .doc = text(doc),
    };
}

/// List(items).get is the function of a table that returns a list.
fn List(comptime items: anytype) type {
    return struct {
        fn get(_: Self, out: [*c][*c]const @TypeOf(items[0]), count: [*c]u64) callconv(.c) Status {
            out.* = &items;
            count.* = items.len;
            return c.TENON_OK;
        }
    };
}
