// SPDX-License-Identifier: MIT
//
// AtEnd: what a scope has to do when it ends, however it does.
//
// Needs:   a function without arguments that throws nothing.
// Threads: one.
// Cost:    none but the call.
#pragma once

namespace cairn {

template <class F>
class [[nodiscard]] AtEnd {
public:
    explicit AtEnd(F &&f) : f_(f) {}
    ~AtEnd() { f_(); }
    AtEnd(const AtEnd &) = delete;
    AtEnd &operator=(const AtEnd &) = delete;

private:
    F f_;
};

} // namespace cairn
