//! What the Rust programs share: the plan, tuples, what operators do with them and count, and the
//! answers. Each program has the loops of its operators and the channels between them.

pub mod block;
pub mod operator;
pub mod plan;
pub mod program;
pub mod tuple;
