// SPDX-License-Identifier: MIT
//
// In place of platform/thread_id.hpp under the model checker: the threads of a model are fibres of one thread.
#pragma once

#include <cstdint>

extern "C" std::uintptr_t cairn_model_thread_id();

namespace cairn::platform {

inline std::uintptr_t thread_id() {
    return cairn_model_thread_id();
}

} // namespace cairn::platform
