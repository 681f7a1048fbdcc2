//! A portable model: linear layers with ReLU between them, computed with the host's operators.

use crate::tenon::*;
use std::ffi::c_void;

struct Layer {
    inputs: i64,
    outputs: i64,
    weight: usize, // index in the frame's tensors
    bias: usize,
}

struct Operators {
    flatten: *const Op,
    linear: *const Op,
    relu: *const Op,
}

struct Mlp {
    layers: Vec<Layer>,
    operators: Operators,
    // The host borrows the ports while the model exists. Moving a Vec or String does not move its content.
    ports: Vec<*const Port>,
    _input: Box<Port>,
    _output: Box<Port>,
    _logits_shape: String,
}

// ---- Construction ---------------------------------------------------------------------------------------------------

fn port(direction: u32, name: &'static str, shape: &str) -> Box<Port> {
    Box::new(Port {
        size: size_of::<Port>(),
        direction,
        reserved: 0,
        name: text(name),
        shape: text(shape),
        dtypes: ANY_FLOAT,
        doc: NO_TEXT,
    })
}

fn make(params: *const Params) -> Result<Mlp, Error> {
    let classes = int_param(params, "classes")?;
    let mut widths = vec![int_param(params, "inputs")?];
    widths.extend(ints_param(params, "hidden")?);
    widths.push(classes);

    let logits_shape = format!("N,{classes}");
    let input = port(INPUT, "features", "N,...");
    let output = port(OUTPUT, "logits", &logits_shape);
    Ok(Mlp {
        layers: widths.windows(2).map(|w| Layer { inputs: w[0], outputs: w[1], weight: 0, bias: 0 }).collect(),
        operators: Operators {
            flatten: op("aten::flatten", "using_ints")?,
            linear: op("aten::linear", "")?,
            relu: op("aten::relu", "")?,
        },
        ports: vec![&*input, &*output],
        _input: input,
        _output: output,
        _logits_shape: logits_shape,
    })
}

unsafe extern "C" fn create(_host: *const Host, params: *const Params, out: *mut *mut c_void) -> Status {
    guard(|| {
        give(make(params)?, out);
        Ok(())
    })
}

unsafe extern "C" fn ports(object: *mut c_void, out: *mut *const *const Port, count: *mut u64) -> Status {
    let mlp = &*object.cast::<Mlp>();
    *out = mlp.ports.as_ptr();
    *count = mlp.ports.len() as u64;
    OK
}

/// Declares a tensor with the initialisation of torch.nn.Linear: uniform within 1 / sqrt(inputs). Returns its index.
fn declare(builder: *const Builder, name: &str, shape: &[i64], inputs: i64) -> Result<usize, Error> {
    let bound = 1.0 / (inputs as f64).sqrt();
    let declaration = Declaration {
        size: size_of::<Declaration>(),
        name: text(name),
        shape: shape.as_ptr(),
        ndim: shape.len() as u32,
        dtype: FLOAT32,
        flags: TRAINABLE,
        init: INIT_UNIFORM,
        a: -bound,
        b: bound,
    };
    let mut index = 0;
    check(unsafe { ((*builder).declare)(builder, &declaration, &mut index) })?;
    Ok(index as usize)
}

unsafe extern "C" fn build(object: *mut c_void, builder: *const Builder) -> Status {
    guard(|| {
        let mlp = &mut *object.cast::<Mlp>();
        for (number, layer) in mlp.layers.iter_mut().enumerate() {
            let weight_shape = [layer.outputs, layer.inputs];
            layer.weight = declare(builder, &format!("layers.{number}.weight"), &weight_shape, layer.inputs)?;
            layer.bias = declare(builder, &format!("layers.{number}.bias"), &[layer.outputs], layer.inputs)?;
        }
        Ok(())
    })
}

// ---- Forward --------------------------------------------------------------------------------------------------------

/// Depends only on its arguments and the frame's tensors: the host may run it again, or with other weights.
fn compute(
    mlp: &Mlp,
    frame: *const Frame,
    weights: &[*mut Tensor],
    input: *const Tensor,
) -> Result<*mut Tensor, Error> {
    let mut features = call(frame, mlp.operators.flatten, &[Value::tensor(input), Value::int(1), Value::int(-1)])?;
    let (found, expected) = (shape(features)?[1], mlp.layers[0].inputs);
    if found != expected {
        return Err(Error::Here(format!(
            "a sample of \"features\" has {found} values; expected {expected}; set params.inputs to {found}"
        )));
    }
    for (number, layer) in mlp.layers.iter().enumerate() {
        if number > 0 {
            features = call(frame, mlp.operators.relu, &[Value::tensor(features)])?;
        }
        let (weight, bias) = (weights[layer.weight], weights[layer.bias]);
        let args = [Value::tensor(features), Value::tensor(weight), Value::tensor(bias)];
        features = call(frame, mlp.operators.linear, &args)?;
    }
    Ok(features)
}

unsafe extern "C" fn forward(
    object: *mut c_void,
    frame: *const Frame,
    inputs: *const *mut Tensor,
    input_count: u64,
    outputs: *mut *mut Tensor,
    output_count: u64,
) -> Status {
    guard(|| {
        assert_eq!((input_count, output_count), (1, 1)); // `guard` turns a panic into an error message, too
        let weights = std::slice::from_raw_parts((*frame).tensors, (*frame).tensor_count as usize);
        *outputs = compute(&*object.cast::<Mlp>(), frame, weights, *inputs)?;
        Ok(())
    })
}

// ---- Description ----------------------------------------------------------------------------------------------------

static TABLE: Model = Model { size: size_of::<Model>(), create, destroy: destroy::<Mlp>, ports, build, forward };

const fn whole_numbers(name: &'static str, kind: u32, default: &'static str, doc: &'static str) -> Param {
    Param {
        size: size_of::<Param>(),
        name: text(name),
        kind,
        reserved: 0,
        default_value: text(default),
        range: text("[1, inf)"),
        choices: std::ptr::null(),
        choice_count: 0,
        doc: text(doc),
    }
}
static INPUTS: Param = whole_numbers("inputs", PARAM_INT, "64", "values in a sample, flattened");
static HIDDEN: Param =
    whole_numbers("hidden", PARAM_INTS, "[128]", "width of each hidden layer; empty for a linear model");
static CLASSES: Param = whole_numbers("classes", PARAM_INT, "10", "number of classes");
static PARAMS: [&Param; 3] = [&INPUTS, &HIDDEN, &CLASSES];

pub static COMPONENT: Component = Component {
    size: size_of::<Component>(),
    kind: MODEL,
    reserved: 0,
    id: text("rust_mlp"),
    doc: text("linear layers with ReLU between them"),
    params: &PARAMS as *const _,
    param_count: PARAMS.len() as u64,
    table: &TABLE as *const Model as *const c_void,
    get_extension: None,
};
