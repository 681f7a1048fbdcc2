//! Prints the memory layout of the structs in examples/rust/tenon.rs, like layouts.c for the headers.

#[path = "../../../examples/rust/tenon.rs"]
mod tenon;

use std::mem::{align_of, size_of, MaybeUninit};
use std::ptr::addr_of;
use tenon::*;

fn size_after<T>(_: *const T) -> usize {
    size_of::<T>()
}

/// layout! { the struct in C, the struct in Rust, its fields... }; `rust = "c"` for a field with another name in C.
macro_rules! layout {
    ($c:literal, $rust:ty, $($field:ident $(= $c_field:literal)?),+) => {
        println!("{}: {} bytes, aligned to {}", $c, size_of::<$rust>(), align_of::<$rust>());
        let place = MaybeUninit::<$rust>::uninit();
        $(
            // SAFETY: this creates no reference and reads nothing; it only takes addresses.
            let field = unsafe { addr_of!((*place.as_ptr()).$field) };
            let name = [$($c_field,)? stringify!($field)][0];
            let offset = field as usize - place.as_ptr() as usize;
            println!("{}.{}: {} bytes at {}", $c, name, size_after(field), offset);
        )+
    };
}

fn main() {
    layout! { "tenon_string", Text, data, size }
    layout! { "tenon_value", Value, kind, reserved, content = "as", n }
    layout! { "tenon_param", Param, size, name, kind = "type", reserved, default_value, range, choices,
    choice_count, doc }
    layout! { "tenon_component", Component, size, kind, reserved, id, doc, params, param_count, table,
    get_extension }
    layout! { "tenon_plugin", Plugin, size, id, version, license, doc, components, component_count, torch_build,
    operators, operator_count }
    layout! { "tenon_offer", Offer, abi_min, abi_max, host, host_version }
    layout! { "tenon_reply", Reply, abi_min, abi_max, plugin }
    layout! { "tenon_frame", Frame, size, tensors, tensor_count, training, rank, world_size, reserved, step, epoch,
    seed }
    layout! { "tenon_named_value", NamedValue, name, value }
    layout! { "tenon_tensor_info", TensorInfo, size, dtype, device_type, device_index, ndim, shape, strides, numel }
    layout! { "tenon_host", Host, size, abi, reserved, fail, log, param, retain, release, tensor_info,
    tensor_data, op, call, get_extension, make_tensor, append }
    layout! { "tenon_field", Field, size, name, dtype, ndim, shape, doc, padding }
    layout! { "tenon_sample", Sample, size, index, epoch, seed }
    layout! { "tenon_sink", Sink, size, context, slot }
    layout! { "tenon_dataset", Dataset, size, create, destroy, length, fields, open_worker, close_worker, get,
    fingerprint }
    layout! { "tenon_port", Port, size, direction, reserved, name, shape, dtypes, doc }
    layout! { "tenon_declaration", Declaration, size, name, shape, ndim, dtype, flags, init, a, b }
    layout! { "tenon_builder", Builder, size, context, declare, adopt }
    layout! { "tenon_model", Model, size, create, destroy, ports, build, forward }
}
