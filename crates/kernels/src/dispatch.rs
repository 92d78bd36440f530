//! Dispatch of a kernel to the code of a backend.

/// Calls `module::function(args…)` in the folder of `backend`.
///
/// The functions in the folders of backends have `#[target_feature]` and are called only from here,
/// where a `Backend` proves that the CPU has the features.
macro_rules! dispatch {
    ($backend:expr, $module:ident :: $function:ident ( $($argument:expr),* $(,)? )) => {
        match $backend.isa() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Backend` of this kind exists only where its CPU features were detected.
            $crate::backend::Isa::Avx512 | $crate::backend::Isa::Amx(_) => unsafe {
                $crate::x86_64::avx512::$module::$function($($argument),*)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Backend` of this kind exists only where its CPU features were detected.
            $crate::backend::Isa::Avx2 => unsafe {
                $crate::x86_64::avx2::$module::$function($($argument),*)
            },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: a `Backend` of this kind exists only where its CPU features were detected.
            #[allow(unused_unsafe)]
            $crate::backend::Isa::Neon => unsafe {
                $crate::aarch64::$module::$function($($argument),*)
            },
            $crate::backend::Isa::Portable => $crate::portable::$module::$function($($argument),*),
        }
    };
}

/// Returns from the caller with `function(unit, args…)` if the backend has tiles and `queries` are
/// several, which fill them.
macro_rules! several_in_tiles {
    ($backend:expr, $queries:ident, $function:ident ( $($argument:expr),* $(,)? )) => {
        #[cfg(target_arch = "x86_64")]
        if let ($crate::backend::Isa::Amx(amx), [_, _, ..]) = ($backend.isa(), $queries) {
            let mut unit = $crate::x86_64::amx::unit::Loaded::new(amx);
            return $crate::x86_64::amx::passes::$function(&mut unit, $($argument),*);
        }
    };
}

/// Defines `name(backend, …)` from the portable `module::name(…)`, compiled again with the CPU
/// features of each backend so that LLVM vectorises it.
///
/// The portable function and everything that it calls must be `#[inline(always)]`: a function that
/// is not inlined is not compiled with the features of its caller.
macro_rules! vectorise {
    (fn $name:ident ( $($argument:ident : $type:ty),* $(,)? ) in $module:ident) => {
        #[inline]
        fn $name(backend: $crate::backend::Backend, $($argument: $type),*) {
            use $crate::portable::$module as definition;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma,avx512vbmi")]
            fn avx512($($argument: $type),*) {
                definition::$name($($argument),*);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2")]
            fn avx2($($argument: $type),*) {
                definition::$name($($argument),*);
            }

            match backend.isa() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a `Backend` of this kind exists only where its CPU features were
                // detected.
                $crate::backend::Isa::Avx512 | $crate::backend::Isa::Amx(_) => unsafe { avx512($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a `Backend` of this kind exists only where its CPU features were
                // detected.
                $crate::backend::Isa::Avx2 => unsafe { avx2($($argument),*) },
                // NEON is part of aarch64: the portable code is compiled for it already.
                #[cfg(target_arch = "aarch64")]
                $crate::backend::Isa::Neon => definition::$name($($argument),*),
                $crate::backend::Isa::Portable => definition::$name($($argument),*),
            }
        }
    };
}

/// Defines the public function `name(backend, …)` of a kernel, which checks lengths and runs the
/// portable `module::name` as LLVM vectorises it.
macro_rules! kernel {
    ($(#[$attribute:meta])*
     pub fn $name:ident ( $($argument:ident : $type:ty),* $(,)? )
     checks $checks:block
     in $module:ident;
    ) => {
        $(#[$attribute])*
        pub fn $name(backend: $crate::backend::Backend, $($argument: $type),*) {
            // Inside this body the name is that of the vectorised function, not of this one.
            vectorise!(fn $name($($argument: $type),*) in $module);
            $checks
            $name(backend, $($argument),*);
        }
    };
}

/// Calls `function::<P>(args…)` for P planes, 1 to 4, or 1 to 5 with `up to 5`.
macro_rules! by_planes {
    (up to 5, $plane_count:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $plane_count {
            5 => $function::<5>($($argument),*),
            fewer => by_planes!(fewer, $function($($argument),*)),
        }
    };
    ($plane_count:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $plane_count {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            _ => $function::<4>($($argument),*),
        }
    };
}

/// Panics unless all lengths are equal.
#[track_caller]
pub(crate) fn same_length<const N: usize>(lengths: [usize; N]) {
    assert!(
        lengths.iter().all(|&length| length == lengths[0]),
        "slices must have one length, not {lengths:?}"
    );
}
