// SPDX-License-Identifier: MIT
//
// For programs that say <obstack.h>: with this folder on the include path they get Cairn's.
#include <cairn/obstack.h>
