// SPDX-License-Identifier: MIT
//
// with_axioms: the outcomes of a small program compared with what C++20 allows. How a kernel carries its program's
// number.
#pragma once

#include "model.hpp"

#include <cstdint>

namespace cairn::model {

inline const void *program_of(unsigned number) {
    return reinterpret_cast<const void *>(std::uintptr_t{number} + 1);
}
inline unsigned number_of(const void *program) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(program) - 1);
}

extern const Comparison with_axioms;

} // namespace cairn::model
