// SPDX-License-Identifier: MIT
//
// JSON as text. File names, and output of programs, may be in any encoding: bytes that are not UTF-8 are replaced.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace cairn::cli {

/// On one line, or indented by so many spaces for each level.
inline std::string json_text(const nlohmann::ordered_json &object, int indent = -1) {
    return object.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace cairn::cli
