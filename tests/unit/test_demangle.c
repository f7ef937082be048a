// SPDX-License-Identifier: Apache-2.0
//
// Names that the first demangler gives up on, and what is cut off those of the second.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "resolve/demangle.h"
#include "base/buf.h"
#include "resolve/demangle_again.h"
#include "resolve/short_name.h"

/* Of the shape that libtorch_cpu.so has: the type of a template's parameter used again outside of it. */
static const char again[] = "_ZN3c1012function_refIFvPPcPKlllEE11callback_"
			    "fnIZN2at18TensorIteratorBase15loop_2d_from_1dIZNS8_6native4AVX217"
			    "cpu_serial_kernelIZZZNSB_9templates3cpu12_GLOBAL__N_113cauchy_"
			    "kernelIPNS8_16CPUGeneratorImplEEEvRS9_ddT_ENKUlvE_"
			    "clEvENKUlvE0_clEvEUlvE_EEvSK_OSL_RKNS8_5RangeEEUlS2_S4_lE_EEDaRKSL_"
			    "EUlS2_S4_llE_EEvlS2_S4_ll";

static void test_again(void **state)
{
	static const char begin[] = "c10::function_ref<void (char**, long const*, long, "
				    "long)>::callback_fn<auto at::TensorIteratorBase::";
	struct st_names *names = st_names_create(1);
	struct st_demangled found;

	(void)state;
	assert_non_null(names);
	found = st_demangle(names, again);
	assert_true(found.name.size_bytes > sizeof(begin));
	assert_memory_equal(found.name.bytes, begin, sizeof(begin) - 1);
	assert_int_equal(found.name.bytes[found.name.size_bytes - 1], '>');
	assert_memory_equal(found.full.bytes, "void c10::", 10);
	assert_int_equal(found.full.bytes[found.full.size_bytes - 1], ')');
	st_names_destroy(names);
	assert_null(st_demangle_again("not mangled"));
	assert_null(st_demangle_again("_Z"));
}

static void test_strip(void **state)
{
	static const char *const cases[][2] = {
		{"void f<int>(long)", "f<int>"},
		{"f(long)", "f"},
		{"f", "f"},
		{"at::Tensor (anonymous namespace)::g<void (int, int)>(char) const",
		 "(anonymous namespace)::g<void (int, int)>"},
		{"f()::'lambda'()::operator()() const::g<int>(int)",
		 "f()::'lambda'()::operator()() const::g<int>"},
		{"a::operator()(int)", "a::operator()"},
		{"()", "()"},
		{")", ")"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = strdup(cases[i][0]);

		assert_non_null(text);
		st_demangled_strip(text);
		assert_string_equal(text, cases[i][1]);
		free(text);
	}
}

static void test_short_names(void **state)
{
	static const char *const cases[][2] = {
		{"at::native::(anonymous namespace)::batch_norm_impl<float>",
		 "at::native::batch_norm_impl"},
		{"c10::function_ref<void (char**, long const*, long, "
		 "long)>::callback_fn<at::native::AVX2::VectorizedLoop2d<at::native::(anonymous "
		 "namespace)::threshold_kernel(at::TensorIteratorBase&, c10::Scalar "
		 "const&)::{lambda()#2}::operator()() const::{lambda()#1}>, void>",
		 "at::native::threshold_kernel {lambda}"},
		{"at::internal::invoke_parallel<at::parallel_for<at::f<float, "
		 "false>(at::Tensor const&) const::{lambda(long, long)#1}>(long)>",
		 "at::f {lambda}"},
		{"g(int)::'lambda'()::operator()", "g {lambda}"},
		{"std::vector<int, std::allocator<int> >::push_back", "std::vector::push_back"},
		{"a::operator<< <int>", "a::operator<<"},
		{"a::operator()", "a::operator()"},
		{"a::operator->", "a::operator->"},
		{"f<(a > b)>::g", "f::g"},
		/* Not C++. */
		{"main.<locals>.<lambda>", "main.<locals>.<lambda>"},
		{"<module>", "<module>"},
		{"[Unknown]", "[Unknown]"},
		{"gomp_team_barrier_wait_end", "gomp_team_barrier_wait_end"},
		{"<", "<"},
		{"f<", "f"},
		{"::{lambda", "::{lambda"},
		{")::{lambda", ")::{lambda"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct st_buf out;

		st_buf_init(&out, 4096);
		st_short_name((struct st_text){cases[i][0], strlen(cases[i][0])}, &out);
		st_buf_append_u8(&out, 0);
		assert_string_equal((char *)out.data, cases[i][1]);
		st_buf_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_strip),
		cmocka_unit_test(test_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
