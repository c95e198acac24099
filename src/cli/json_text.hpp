// SPDX-License-Identifier: MIT
//
// JSON as text. Names of files, and what programs say, may be in any encoding: what is no UTF-8 is replaced.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace cairn::cli {

/// On one line, or with so many spaces for each level.
inline std::string json_text(const nlohmann::ordered_json &object, int indent = -1) {
    return object.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace cairn::cli
