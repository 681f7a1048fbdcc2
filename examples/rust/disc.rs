//! A dataset: random points in a square. The label is 1 for points within the central disc.

use crate::tenon::*;
use std::ffi::c_void;

struct Disc {
    samples: i64,
}

unsafe extern "C" fn create(_host: *const Host, params: *const Params, out: *mut *mut c_void) -> Status {
    guard(|| {
        give(Disc { samples: int_param(params, "samples")? }, out);
        Ok(())
    })
}

unsafe extern "C" fn length(object: *mut c_void, out: *mut i64) -> Status {
    *out = (*object.cast::<Disc>()).samples;
    OK
}

static TWO: [i64; 1] = [2];
static POINT: Field = Field {
    size: size_of::<Field>(),
    name: text("point"),
    dtype: FLOAT32,
    ndim: 1,
    shape: TWO.as_ptr(),
    doc: text("x and y, each from -1 to 1"),
    padding: 0.0,
};
static LABEL: Field = Field {
    size: size_of::<Field>(),
    name: text("label"),
    dtype: INT64,
    ndim: 0,
    shape: std::ptr::null(),
    doc: text("1: within the disc"),
    padding: 0.0,
};
static FIELDS: [&Field; 2] = [&POINT, &LABEL];

unsafe extern "C" fn fields(_object: *mut c_void, out: *mut *const &'static Field, count: *mut u64) -> Status {
    *out = FIELDS.as_ptr();
    *count = FIELDS.len() as u64;
    OK
}

/// Called on several threads concurrently. The sample's seed is the only source of randomness, so that any number of
/// threads gives the same points.
unsafe extern "C" fn get(
    _object: *mut c_void,
    _worker: *mut c_void,
    sample: *const Sample,
    sink: *const Sink,
) -> Status {
    guard(|| {
        let mut state = (*sample).seed;
        let point = slot::<f32>(sink, 0, &[2])?;
        point[0] = coordinate(&mut state);
        point[1] = coordinate(&mut state);
        let within = point[0] * point[0] + point[1] * point[1] < 0.64; // the disc covers half of the square
        slot::<i64>(sink, 1, &[])?[0] = within as i64;
        Ok(())
    })
}

fn coordinate(state: &mut u64) -> f32 {
    (next(state) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E3779B97F4A7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D049BB133111EB);
    bits ^ (bits >> 31)
}

pub const TABLE: Dataset = Dataset {
    size: size_of::<Dataset>(),
    create,
    destroy: destroy::<Disc>,
    length,
    fields,
    open_worker: None,
    close_worker: None,
    get,
    fingerprint: None,
};

static SAMPLES: Param = Param {
    size: size_of::<Param>(),
    name: text("samples"),
    kind: PARAM_INT,
    reserved: 0,
    default_value: text("1000"),
    range: text("[1, inf)"),
    choices: std::ptr::null(),
    choice_count: 0,
    doc: text("number of points"),
};
pub static PARAMS: [&Param; 1] = [&SAMPLES];

pub static COMPONENT: Component = Component {
    size: size_of::<Component>(),
    kind: DATASET,
    reserved: 0,
    id: text("disc"),
    doc: text("random points in a square, labelled by whether they are within a disc"),
    params: &PARAMS as *const _,
    param_count: PARAMS.len() as u64,
    table: &TABLE as *const Dataset as *const c_void,
    get_extension: None,
};
