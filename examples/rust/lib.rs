//! A plugin in Rust: its description, and the one function that it exports.

mod disc;
mod mlp;
mod tenon;

use tenon::*;

static COMPONENTS: [&Component; 2] = [&disc::COMPONENT, &mlp::COMPONENT];

static PLUGIN: Plugin = Plugin {
    size: size_of::<Plugin>(),
    id: text("rust_example"),
    version: text("1.0.0"),
    license: text("Apache-2.0"),
    doc: text("A dataset and a model, in Rust."),
    components: &COMPONENTS as *const _,
    component_count: COMPONENTS.len() as u64,
    torch_build: NO_TEXT,
    operators: NO_OPERATORS,
    operator_count: 0,
};

/// # Safety
/// The host calls this function once, with a valid offer and a reply to fill in.
#[no_mangle]
pub unsafe extern "C" fn tenon_plugin_open(offer: *const Offer, reply: *mut Reply) -> Status {
    set_host((*offer).host);
    (*reply).abi_min = ABI;
    (*reply).abi_max = ABI;
    (*reply).plugin = &PLUGIN;
    OK
}
