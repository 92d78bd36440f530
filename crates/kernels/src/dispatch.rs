//! The two macros that tie a kernel's backends together.

/// Calls `module::function(args…)` of the folder that `backend` names.
///
/// The functions in the x86-64 folders carry `#[target_feature]`; they are
/// reached only from here.
macro_rules! dispatch {
    ($backend:expr, $module:ident :: $function:ident ( $($argument:expr),* $(,)? )) => {
        match $backend.kind() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Backend` of this kind exists only where its CPU features were detected.
            $crate::backend::Kind::Avx512 => unsafe {
                $crate::x86_64::avx512::$module::$function($($argument),*)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Backend` of this kind exists only where its CPU features were detected.
            $crate::backend::Kind::Avx2 => unsafe {
                $crate::x86_64::avx2::$module::$function($($argument),*)
            },
            $crate::backend::Kind::Portable => $crate::portable::$module::$function($($argument),*),
        }
    };
}

/// Compiles portable kernels again with more CPU features, for LLVM to vectorise.
///
/// `compile_for! { "avx2,fma,bmi2", crate::portable::pointwise, { fn neg(out: &mut [u32], a: &[u32], q: u32); } }`
/// makes `neg` with `#[target_feature]` out of the `#[inline(always)]` portable one.
#[cfg(target_arch = "x86_64")]
macro_rules! compile_for {
    ($features:literal, $module:path, { $(
        fn $function:ident ( $($argument:ident : $type:ty),* $(,)? );
    )* }) => { $(
        #[target_feature(enable = $features)]
        pub(crate) fn $function($($argument: $type),*) {
            use $module as meaning;
            meaning::$function($($argument),*)
        }
    )* };
}

/// Makes a kernel's two public functions: `name(…)` on the current backend and
/// `name_with(backend, …)`; both check lengths before they dispatch to `module::name`.
macro_rules! kernel {
    ($(#[$attribute:meta])*
     pub fn $name:ident | $with:ident ( $($argument:ident : $type:ty),* $(,)? )
     checks $checks:block
     in $module:ident;
    ) => {
        $(#[$attribute])*
        pub fn $name($($argument: $type),*) {
            $with($crate::Backend::current(), $($argument),*);
        }

        #[doc = concat!("[`", stringify!($name), "`] on the backend given.")]
        pub fn $with(backend: $crate::Backend, $($argument: $type),*) {
            $checks
            dispatch!(backend, $module::$name($($argument),*));
        }
    };
}
