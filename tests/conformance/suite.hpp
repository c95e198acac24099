// SPDX-License-Identifier: MIT
//
// The conformance suite: what every heap of the project must do, whatever it is made of. A test file
// describes its heaps as rows (traits.hpp) and says
//
//     using Rows = testing::Types<FreelistRow, ...>;
//     INSTANTIATE_TYPED_TEST_SUITE_P(Freelist, Conformance, Rows);
//
// A test that a heap has not the capability for says nothing. The tests themselves are in suite.cpp, compiled once.
#pragma once

#include "driver.hpp"

namespace cairn::conformance {

namespace suite {

void all_sizes_alone_in_a_new_heap(const Kind &kind);
void all_sizes_together_are_disjoint_and_keep_their_contents(const Kind &kind);
void random_operations_agree_with_the_model(const Kind &kind);
void what_no_machine_has_is_nullptr(const Kind &kind);
void out_of_memory_at_every_step_is_an_answer(const Kind &kind);
void destroying_it_gives_everything_back(const Kind &kind);
void freed_memory_is_used_again(const Kind &kind);
void cleared_it_is_as_new(const Kind &kind);
void heaps_side_by_side_are_apart(const Kind &kind);
void alignments_up_to_a_megabyte(const Kind &kind);
void nothing_is_as_in_c(const Kind &kind);
void threads_may_call_at_once(const Kind &kind);

} // namespace suite

template <class T>
class Conformance : public testing::Test {};
TYPED_TEST_SUITE_P(Conformance);

TYPED_TEST_P(Conformance, AllSizesAloneInANewHeap) {
    suite::all_sizes_alone_in_a_new_heap(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, AllSizesTogetherAreDisjointAndKeepTheirContents) {
    suite::all_sizes_together_are_disjoint_and_keep_their_contents(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, RandomOperationsAgreeWithTheModel) {
    suite::random_operations_agree_with_the_model(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, WhatNoMachineHasIsNullptr) {
    suite::what_no_machine_has_is_nullptr(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, OutOfMemoryAtEveryStepIsAnAnswer) {
    suite::out_of_memory_at_every_step_is_an_answer(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, DestroyingItGivesEverythingBack) {
    suite::destroying_it_gives_everything_back(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, FreedMemoryIsUsedAgain) {
    suite::freed_memory_is_used_again(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, ClearedItIsAsNew) {
    suite::cleared_it_is_as_new(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, HeapsSideBySideAreApart) {
    suite::heaps_side_by_side_are_apart(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, AlignmentsUpToAMegabyte) {
    suite::alignments_up_to_a_megabyte(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, NothingIsAsInC) {
    suite::nothing_is_as_in_c(kind_of<TypeParam>);
}
TYPED_TEST_P(Conformance, ThreadsMayCallAtOnce) {
    suite::threads_may_call_at_once(kind_of<TypeParam>);
}

REGISTER_TYPED_TEST_SUITE_P(Conformance, AllSizesAloneInANewHeap,
                            AllSizesTogetherAreDisjointAndKeepTheirContents,
                            RandomOperationsAgreeWithTheModel, WhatNoMachineHasIsNullptr,
                            OutOfMemoryAtEveryStepIsAnAnswer, DestroyingItGivesEverythingBack,
                            FreedMemoryIsUsedAgain, ClearedItIsAsNew, HeapsSideBySideAreApart,
                            AlignmentsUpToAMegabyte, NothingIsAsInC, ThreadsMayCallAtOnce);

} // namespace cairn::conformance
