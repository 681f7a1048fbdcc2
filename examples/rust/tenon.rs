//! The plugin contract in Rust: the declarations of the C headers in `include/tenon` that a dataset and a model need.
//! Fields have the names and the order of the headers, which also document them. Copy this file unchanged.
#![allow(dead_code)] // each struct must be complete, even if this plugin does not read all fields

use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicPtr, Ordering};

// ---- abi.h ----------------------------------------------------------------------------------------------------------

pub const ABI: u32 = 1 << 16; // 1.0: major << 16 | minor

pub type Status = i32;
pub const OK: Status = 0;
pub const FAILED: Status = 1;

pub const INT64: i32 = 5;
pub const FLOAT32: i32 = 8;
pub const ANY_FLOAT: u64 = 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9;

/// Borrowed UTF-8 text with a length.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const u8,
    pub size: u64,
}

pub const fn text(of: &str) -> Text {
    Text { data: of.as_ptr(), size: of.len() as u64 }
}

pub const NO_TEXT: Text = text("");

#[repr(C)]
#[derive(Clone, Copy)]
pub union Content {
    pub i: i64,
    pub f: f64,
    pub p: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Value {
    pub kind: u32,
    pub reserved: u32,
    pub content: Content,
    pub n: u64,
}

impl Value {
    pub const NONE: Value = Value { kind: 0, reserved: 0, content: Content { i: 0 }, n: 0 };

    pub fn int(number: i64) -> Value {
        Value { kind: 2, content: Content { i: number }, ..Value::NONE }
    }

    pub fn tensor(handle: *const Tensor) -> Value {
        Value { kind: 5, content: Content { p: handle.cast() }, ..Value::NONE }
    }
}

// Opaque types of the host. Plugins only use pointers to them.
#[repr(C)]
pub struct Tensor([u8; 0]);
#[repr(C)]
pub struct Op([u8; 0]);
#[repr(C)]
pub struct Params([u8; 0]);

// ---- parameters.h, plugin.h -----------------------------------------------------------------------------------------

pub const PARAM_INT: u32 = 2;
pub const PARAM_INTS: u32 = 6;

#[repr(C)]
pub struct Param {
    pub size: u64,
    pub name: Text,
    pub kind: u32, // `type` in C
    pub reserved: u32,
    pub default_value: Text,
    pub range: Text,
    pub choices: *const Text,
    pub choice_count: u64,
    pub doc: Text,
}

pub const MODEL: u32 = 1;
pub const DATASET: u32 = 2;

/// Arrays of pointers are arrays of references here. They have the same memory layout and may be statics.
#[repr(C)]
pub struct Component {
    pub size: u64,
    pub kind: u32,
    pub reserved: u32,
    pub id: Text,
    pub doc: Text,
    pub params: *const &'static Param,
    pub param_count: u64,
    pub table: *const c_void,
    pub get_extension: Option<unsafe extern "C" fn(Text) -> *const c_void>,
}

#[repr(C)]
pub struct Plugin {
    pub size: u64,
    pub id: Text,
    pub version: Text,
    pub license: Text,
    pub doc: Text,
    pub components: *const &'static Component,
    pub component_count: u64,
    pub torch_build: Text,
    pub operators: *const Text,
    pub operator_count: u64,
}

pub const NO_OPERATORS: *const Text = std::ptr::null();

#[repr(C)]
pub struct Offer {
    pub abi_min: u32,
    pub abi_max: u32,
    pub host: *const Host,
    pub host_version: Text,
}

#[repr(C)]
pub struct Reply {
    pub abi_min: u32,
    pub abi_max: u32,
    pub plugin: *const Plugin,
}

// ---- host.h, tensor.h -----------------------------------------------------------------------------------------------

#[repr(C)]
pub struct Frame {
    pub size: u64,
    pub tensors: *const *mut Tensor,
    pub tensor_count: u64,
    pub training: u32,
    pub rank: u32,
    pub world_size: u32,
    pub reserved: u32,
    pub step: i64,
    pub epoch: i64,
    pub seed: u64,
}

#[repr(C)]
pub struct NamedValue {
    pub name: Text,
    pub value: Value,
}

#[repr(C)]
pub struct TensorInfo {
    pub size: u64,
    pub dtype: i32,
    pub device_type: i32,
    pub device_index: i32,
    pub ndim: u32,
    pub shape: *const i64,
    pub strides: *const i64,
    pub numel: i64,
}

#[repr(C)]
pub struct Host {
    pub size: u64,
    pub abi: u32,
    pub reserved: u32,
    pub fail: unsafe extern "C" fn(Status, Text) -> Status,
    pub log: unsafe extern "C" fn(u32, Text),
    pub param: unsafe extern "C" fn(*const Params, Text, *mut Value) -> Status,
    pub retain: unsafe extern "C" fn(*mut Tensor),
    pub release: unsafe extern "C" fn(*mut Tensor),
    pub tensor_info: unsafe extern "C" fn(*const Tensor, *mut TensorInfo) -> Status,
    pub tensor_data: unsafe extern "C" fn(*mut Tensor, *mut *mut c_void) -> Status,
    pub op: unsafe extern "C" fn(Text, Text, *mut *const Op) -> Status,
    pub call: unsafe extern "C" fn(
        *const Frame,
        *const Op,
        *const Value,
        u64,
        *const NamedValue,
        u64,
        *mut Value,
        u64,
    ) -> Status,
    pub get_extension: unsafe extern "C" fn(Text) -> *const c_void,
    pub make_tensor:
        unsafe extern "C" fn(*const Frame, i32, *const i64, u32, *const c_void, *mut *mut Tensor) -> Status,
    pub append: unsafe extern "C" fn(*const Frame, u64, *mut Tensor) -> Status,
}

// ---- dataset.h ------------------------------------------------------------------------------------------------------

#[repr(C)]
pub struct Field {
    pub size: u64,
    pub name: Text,
    pub dtype: i32,
    pub ndim: u32,
    pub shape: *const i64,
    pub doc: Text,
    pub padding: f64,
}

#[repr(C)]
pub struct Sample {
    pub size: u64,
    pub index: i64,
    pub epoch: i64,
    pub seed: u64,
}

#[repr(C)]
pub struct Sink {
    pub size: u64,
    pub context: *mut c_void,
    pub slot: unsafe extern "C" fn(*const Sink, u64, *const i64, u32, *mut *mut c_void) -> Status,
}

/// An optional function is an Option: None is the null pointer.
#[repr(C)]
pub struct Dataset {
    pub size: u64,
    pub create: unsafe extern "C" fn(*const Host, *const Params, *mut *mut c_void) -> Status,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub length: unsafe extern "C" fn(*mut c_void, *mut i64) -> Status,
    pub fields: unsafe extern "C" fn(*mut c_void, *mut *const &'static Field, *mut u64) -> Status,
    pub open_worker: Option<unsafe extern "C" fn(*mut c_void, u64, u64, *mut *mut c_void) -> Status>,
    pub close_worker: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub get: unsafe extern "C" fn(*mut c_void, *mut c_void, *const Sample, *const Sink) -> Status,
    pub fingerprint: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> Status>,
}

// ---- port.h, model.h ------------------------------------------------------------------------------------------------

pub const INPUT: u32 = 0;
pub const OUTPUT: u32 = 1;

#[repr(C)]
pub struct Port {
    pub size: u64,
    pub direction: u32,
    pub reserved: u32,
    pub name: Text,
    pub shape: Text,
    pub dtypes: u64,
    pub doc: Text,
}

pub const INIT_UNIFORM: u32 = 1;
pub const TRAINABLE: u32 = 1;

#[repr(C)]
pub struct Declaration {
    pub size: u64,
    pub name: Text,
    pub shape: *const i64,
    pub ndim: u32,
    pub dtype: i32,
    pub flags: u32,
    pub init: u32,
    pub a: f64,
    pub b: f64,
}

#[repr(C)]
pub struct Builder {
    pub size: u64,
    pub context: *mut c_void,
    pub declare: unsafe extern "C" fn(*const Builder, *const Declaration, *mut u64) -> Status,
    pub adopt: unsafe extern "C" fn(*const Builder, Text, *mut Tensor, u32, *mut u64) -> Status,
}

#[repr(C)]
pub struct Model {
    pub size: u64,
    pub create: unsafe extern "C" fn(*const Host, *const Params, *mut *mut c_void) -> Status,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub ports: unsafe extern "C" fn(*mut c_void, *mut *const *const Port, *mut u64) -> Status,
    pub build: unsafe extern "C" fn(*mut c_void, *const Builder) -> Status,
    pub forward:
        unsafe extern "C" fn(*mut c_void, *const Frame, *const *mut Tensor, u64, *mut *mut Tensor, u64) -> Status,
}

/// The value for a struct's field `size`: the size of this declaration of the struct.
pub const fn size_of<T>() -> u64 {
    std::mem::size_of::<T>() as u64
}

// SAFETY: their pointers point to statics, which are never written to.
unsafe impl Sync for Param {}
unsafe impl Sync for Component {}
unsafe impl Sync for Plugin {}
unsafe impl Sync for Field {}

// ---- Convenience functions ------------------------------------------------------------------------------------------

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());

/// Stores the host's table. Call it once, when the plugin is opened.
///
/// # Safety
/// The host's table must be valid until the process ends.
pub unsafe fn set_host(host: *const Host) {
    HOST.store(host as *mut Host, Ordering::Release);
}

pub fn host() -> &'static Host {
    // SAFETY: set_host was called before, and the table outlives every call.
    unsafe { &*HOST.load(Ordering::Acquire) }
}

/// The reason why a function failed.
pub enum Error {
    /// A host call failed. The host already has the error message.
    Host(Status),
    /// The plugin found an error. The host does not have the message yet.
    Here(String),
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::Here(message)
    }
}

/// Converts a status of the host to a Result, for `?`.
pub fn check(status: Status) -> Result<(), Error> {
    if status == OK {
        Ok(())
    } else {
        Err(Error::Host(status))
    }
}

/// Runs the body of a function that the host calls. Converts an error or a panic to a status and a message: a panic
/// must not unwind into the host, which is not written in Rust.
pub fn guard(body: impl FnOnce() -> Result<(), Error>) -> Status {
    let message = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(Error::Host(status))) => return status,
        Ok(Err(Error::Here(message))) => message,
        Err(panic) => format!("panic: {}", panic_message(&*panic)),
    };
    unsafe { (host().fail)(FAILED, text(&message)) }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(message) = panic.downcast_ref::<String>() {
        message
    } else {
        panic.downcast_ref::<&str>().copied().unwrap_or("without a message")
    }
}

/// Transfers ownership of `object` to the host, which later passes it to `destroy`.
pub fn give<T>(object: T, out: *mut *mut c_void) {
    unsafe { *out = Box::into_raw(Box::new(object)).cast() }
}

/// # Safety
/// `object` must come from `give` with the same type, and must not be used again.
pub unsafe extern "C" fn destroy<T>(object: *mut c_void) {
    let object = Box::from_raw(object.cast::<T>());
    guard(|| {
        drop(object);
        Ok(())
    });
}

/// Returns a parameter of the schema. A list points to `n` elements.
pub fn param(params: *const Params, name: &str) -> Result<Value, Error> {
    let mut value = Value::NONE;
    check(unsafe { (host().param)(params, text(name), &mut value) })?;
    Ok(value)
}

pub fn int_param(params: *const Params, name: &str) -> Result<i64, Error> {
    Ok(unsafe { param(params, name)?.content.i })
}

/// Returns a list of integers. An empty list may have a null pointer, which is not valid for a slice.
pub fn ints_param(params: *const Params, name: &str) -> Result<Vec<i64>, Error> {
    let list = param(params, name)?;
    if list.n == 0 {
        return Ok(Vec::new());
    }
    Ok(unsafe { std::slice::from_raw_parts(list.content.p.cast::<i64>(), list.n as usize) }.to_vec())
}

/// Finds an ATen operator by its name and overload.
pub fn op(name: &str, overload: &str) -> Result<*const Op, Error> {
    let mut found = std::ptr::null();
    check(unsafe { (host().op)(text(name), text(overload), &mut found) })?;
    Ok(found)
}

/// Calls an operator that returns one tensor, which the frame owns. Autograd records the call.
pub fn call(frame: *const Frame, op: *const Op, args: &[Value]) -> Result<*mut Tensor, Error> {
    let mut result = Value::NONE;
    check(unsafe { (host().call)(frame, op, args.as_ptr(), args.len() as u64, std::ptr::null(), 0, &mut result, 1) })?;
    Ok(unsafe { result.content.p } as *mut Tensor)
}

/// Returns the shape of a tensor.
pub fn shape(tensor: *const Tensor) -> Result<Vec<i64>, Error> {
    let mut info: TensorInfo = unsafe { std::mem::zeroed() };
    info.size = size_of::<TensorInfo>();
    check(unsafe { (host().tensor_info)(tensor, &mut info) })?;
    if info.ndim == 0 {
        return Ok(Vec::new());
    }
    Ok(unsafe { std::slice::from_raw_parts(info.shape, info.ndim as usize) }.to_vec())
}

/// Returns the memory of a field of the sample, directly in the batch: `shape` elements of the field's dtype.
///
/// # Safety
/// T must be the Rust type of the field's dtype, and no other slice of this memory may exist. The memory is not
/// initialised.
pub unsafe fn slot<'a, T>(sink: *const Sink, field: u64, shape: &[i64]) -> Result<&'a mut [T], Error> {
    let mut memory = std::ptr::null_mut();
    check(((*sink).slot)(sink, field, shape.as_ptr(), shape.len() as u32, &mut memory))?;
    let count: i64 = shape.iter().product();
    Ok(std::slice::from_raw_parts_mut(memory.cast::<T>(), count as usize))
}
