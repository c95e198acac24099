// SPDX-License-Identifier: MIT
//
// What nearly every test of the kit includes, compiled once for all of them. No test needs it: each includes what it
// uses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>
