//! No scheme's secret can be cloned, nor the erased one.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::Scheme;
use papir_schemes::double::Double;
use papir_schemes::inspire::Inspire;
use papir_schemes::plain::Plain;
use papir_schemes::simple::Simple;

fn clone<T: Clone>() {}

fn main() {
    clone::<<Plain as Scheme>::Secret>();
    clone::<<Simple as Scheme>::Secret>();
    clone::<<Inspire as Scheme>::Secret>();
    clone::<<Double as Scheme>::Secret>();
    clone::<ErasedSecret>();
}
