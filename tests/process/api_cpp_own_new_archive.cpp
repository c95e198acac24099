// SPDX-License-Identifier: MIT
// link: a
//
// A program that replaces some forms of operator new and delete is linked with libcairn.a: the forms that it leaves
// reach its own.
#include "api_cpp_own_new.cpp"
