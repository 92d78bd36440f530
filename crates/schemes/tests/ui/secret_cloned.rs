//! No scheme's secret can be cloned, nor the erased one.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::Scheme;
use papir_schemes::double::Double;
use papir_schemes::inspire::Inspire;
use papir_schemes::double::packed::Inspire0;
use papir_schemes::inspire::two_levels::Inspire2;
use papir_schemes::plain::Plain;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::SimpleYpir;
use papir_schemes::double::packed::Ypir;

fn clone<T: Clone>() {}

fn main() {
    clone::<<Plain as Scheme>::Secret>();
    clone::<<Simple as Scheme>::Secret>();
    clone::<<Inspire as Scheme>::Secret>();
    clone::<<Double as Scheme>::Secret>();
    clone::<<Inspire2 as Scheme>::Secret>();
    clone::<<Inspire0 as Scheme>::Secret>();
    clone::<<Ypir as Scheme>::Secret>();
    clone::<<SimpleYpir as Scheme>::Secret>();
    clone::<ErasedSecret>();
}
