// Compiles what stands between BEGIN and END for an instruction set beyond the baseline, in the
// spelling of the compiler at hand. Standard headers belong before BEGIN: an inline function of
// theirs compiled with wider instructions could be the copy that the linker keeps for everyone.
#pragma once

#define SYNCOPATE_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define SYNCOPATE_TARGET_BEGIN(names) \
  SYNCOPATE_PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
#define SYNCOPATE_TARGET_END SYNCOPATE_PRAGMA(clang attribute pop)
#else
#define SYNCOPATE_TARGET_BEGIN(names) \
  SYNCOPATE_PRAGMA(GCC push_options) SYNCOPATE_PRAGMA(GCC target(names))
#define SYNCOPATE_TARGET_END SYNCOPATE_PRAGMA(GCC pop_options)
#endif
