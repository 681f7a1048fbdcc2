//! The dataset of the example, and a variant in which every sample panics.

#[path = "../../../examples/rust/disc.rs"]
mod disc;
#[path = "../../../examples/rust/tenon.rs"]
mod tenon;

use std::ffi::c_void;
use tenon::*;

unsafe extern "C" fn get(_: *mut c_void, _: *mut c_void, sample: *const Sample, _: *const Sink) -> Status {
    guard(|| panic!("no sample {}", (*sample).index))
}

static TABLE: Dataset = Dataset { get, ..disc::TABLE };
static COMPONENT: Component = Component {
    size: size_of::<Component>(),
    kind: DATASET,
    reserved: 0,
    id: text("panics"),
    doc: text("no sample can be read"),
    params: &disc::PARAMS as *const _,
    param_count: disc::PARAMS.len() as u64,
    table: &TABLE as *const Dataset as *const c_void,
    get_extension: None,
};
static COMPONENTS: [&Component; 2] = [&COMPONENT, &disc::COMPONENT];
static PLUGIN: Plugin = Plugin {
    size: size_of::<Plugin>(),
    id: text("panics"),
    version: text("1.0.0"),
    license: text("Apache-2.0"),
    doc: text("Panics."),
    components: &COMPONENTS as *const _,
    component_count: COMPONENTS.len() as u64,
    torch_build: NO_TEXT,
    operators: NO_OPERATORS,
    operator_count: 0,
};

/// # Safety
/// The host calls it once, with its offer and a reply to fill in.
#[no_mangle]
pub unsafe extern "C" fn tenon_plugin_open(offer: *const Offer, reply: *mut Reply) -> Status {
    set_host((*offer).host);
    *reply = Reply { abi_min: ABI, abi_max: ABI, plugin: &PLUGIN };
    OK
}
