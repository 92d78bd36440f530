//! Kernel: gadget.
