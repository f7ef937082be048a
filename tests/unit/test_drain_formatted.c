/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatted metadata, from the call in the program to its text, against libc's printf.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include <cmocka.h>

#include "collect/inproc/itt/arguments.h"
#include "collect/launch/drain/formatted.h"
#include "format/conversion.h"

enum { CAPACITY = ST_CONVERSION_TEXT_BYTES, DATA_BYTES = 64 << 10 };

static char ours[CAPACITY + 1], theirs[CAPACITY + 1];
static char data[DATA_BYTES]; /* of the latest event */
static size_t data_bytes;

/* As it goes through a ring. */
static struct st_formatted format_event(char *out, size_t capacity, const char *format,
					va_list list)
{
	static struct st_arguments arguments;

	st_arguments_pack(&arguments, format, list);
	assert_false(arguments.cut);
	data_bytes = 0;
	for (uint32_t i = 0; i < arguments.part_count; i++) {
		const struct st_part *part = &arguments.parts[i];

		assert_true(data_bytes + part->size_bytes <= sizeof(data));
		memcpy(data + data_bytes, part->at, part->size_bytes);
		data_bytes += part->size_bytes;
	}
	return st_format_arguments(out, capacity, data, data_bytes);
}

__attribute__((format(printf, 1, 0))) static void format_both(const char *format, va_list list)
{
	struct st_formatted formatted;
	va_list again;

	va_copy(again, list);
	formatted = format_event(ours, CAPACITY, format, list);
	ours[formatted.length] = '\0';
	assert_false(formatted.cut);
	vsnprintf(theirs, sizeof(theirs), format, again);
	va_end(again);
}

__attribute__((format(printf, 1, 2))) static void same(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	format_both(format, list);
	va_end(list);
	if (strcmp(ours, theirs))
		fail_msg("\"%s\": \"%s\" is not \"%s\"", format, ours, theirs);
}

/* What libc would not do: the expected text is given. */
static void becomes(const char *expected, const char *format, ...)
{
	struct st_formatted formatted;
	va_list list;

	va_start(list, format);
	formatted = format_event(ours, CAPACITY, format, list);
	va_end(list);
	ours[formatted.length] = '\0';
	assert_string_equal(ours, expected);
}

static void test_integers(void **state)
{
	(void)state;
	same("plain 100%% text");
	same("%d %i %u %x %X %o", -5, 6, 7u, 0xbeefu, 0xBEEFu, 8u);
	same("%hhd %hhu %hd %hu", (signed char)-3, (unsigned char)200, (short)-300,
	     (unsigned short)65000);
	same("%ld %lu %lld %llu", -1L, ~0ul, INT64_MIN + 0ll, ~0ull);
	same("%zu %zd %jd %ju %td", (size_t)7, (ssize_t)-7, (intmax_t)-8, (uintmax_t)8,
	     (ptrdiff_t)9);
	same("%d %u %x", INT32_MIN, UINT32_MAX, 0u);
	same("[%5d] [%-5d] [%05d] [%+d] [% d] [%+5d] [%-+5d]", 42, 42, 42, 42, 42, 42, 42);
	same("[%.3d] [%8.3d] [%-8.3d] [%.0d] [%.0d]", 7, 7, 7, 0, 3);
	becomes("     007", "%08.3d", 7); /* a precision rules the zeros out */
	same("[%#x] [%#X] [%#o] [%#x] [%#o] [%#10x] [%#010x]", 255u, 255u, 8u, 0u, 0u, 255u, 255u);
	same("[%*d] [%-*d] [%*d] [%.*d] [%.*d]", 6, 1, 6, 2, -6, 3, 4, 5, -1, 6);
}

static void test_texts(void **state)
{
	wchar_t wide[] = {0xe4, 0x20ac, 0x1f525, 'x', 0};
	char text[800];

	(void)state;
	memset(text, 't', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	same("[%s] [%10s] [%-10s] [%.2s] [%10.2s] [%.0s]", "text", "text", "text", "text", "text",
	     "text");
	same("[%c] [%3c] [%-3c]", 'a', 'b', 'c');
	same("[%p] [%20p] [%-20p]", (void *)0x1234, (void *)0xabcd, (void *)1);
	becomes("(nil)", "%p", NULL);
	becomes("(null)", "%s", NULL);
	becomes("[    (null)]", "[%10s]", NULL);
	becomes("\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5x", "%ls", wide);
	becomes("\xe2\x82\xac", "%lc", (wint_t)0x20ac);
	becomes("(null)", "%ls", NULL);
	same("%.700s|%700s|%-600d|%.600d", text, "x", 7, 8);
}

/* A precision counts bytes, and what it leaves out is not looked at. */
static void test_unterminated(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + page;
	wchar_t *wide = (wchar_t *)(void *)end - 2;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages, page, PROT_READ | PROT_WRITE), 0);
	wide[0] = wide[1] = 0x20ac;
	becomes("[\xe2\x82\xac\xe2\x82\xac]", "[%.6ls]", wide);
	becomes("[\xe2\x82\xac]", "[%.5ls]", wide);
	becomes("[  \xe2\x82\xac]", "[%5.3ls]", wide);
	becomes("[\xe2\x82\xac  ]", "[%-5.3ls]", wide);
	memcpy(end - 3, "xyz", 3);
	becomes("[xyz]", "[%.3s]", end - 3);
	munmap(pages, 2 * page);
}

static void test_odd(void **state)
{
	int written = 77;

	(void)state;
	becomes("ab 5", "a%nb %d", &written, 5);
	assert_int_equal(written, 77);
	becomes("1 %y %d", "%d %y %d", 1, 2);
	becomes("%1$d", "%1$d", 1);
	becomes("x%", "x%");
	becomes("x%5", "x%5");
	becomes("", "");
	becomes("0.1000000000000000055511151231", "%.28f", 0.1);
}

static struct st_formatted into(char *out, size_t capacity, const char *format, ...)
{
	struct st_formatted formatted;
	va_list list;

	va_start(list, format);
	formatted = format_event(out, capacity, format, list);
	va_end(list);
	return formatted;
}

static void test_bounded(void **state)
{
	static const char *const formats[] = {"0123456789", "%s", "%400d", "%.400f", "%-400s"};
	char small[9];

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct st_formatted formatted;

		memset(small, '#', sizeof(small));
		formatted = i == 3 ? into(small, 7, formats[i], 1.0)
				   : into(small, 7, formats[i], "a longer text");
		assert_true(formatted.cut);
		assert_int_equal(formatted.length, 7);
		assert_int_equal(small[8], '#');
	}
	assert_false(into(small, 7, "%s", "1234567").cut);
	assert_int_equal(into(small, 0, "%s", "1").length, 0);
}

/* A ring may hold anything: whatever is missing ends the text, and nothing else is read. */
static void test_damaged(void **state)
{
	static const uint64_t lengths[] = {0, 5, 1000, 1ull << 63, UINT64_MAX};
	uint8_t *copy;

	(void)state;
	becomes("text: 5 ab 1.5 [   7] \xe2\x82\xac", "text: %d %s %g [%*d] %ls", 5, "ab", 1.5, 4,
		7, L"\u20ac");
	for (size_t bytes = 0; bytes <= data_bytes; bytes++) {
		copy = malloc(bytes ? bytes : 1);
		assert_non_null(copy);
		memcpy(copy, data, bytes);
		assert_true(st_format_arguments(ours, CAPACITY, copy, bytes).length <= CAPACITY);
		for (size_t i = 0; bytes >= 16 && i < sizeof(lengths) / sizeof(*lengths); i++) {
			memcpy(copy, &lengths[i], sizeof(lengths[i]));
			st_format_arguments(ours, CAPACITY, copy, bytes);
		}
		for (size_t at = 8; at + 8 <= bytes; at++) {
			memcpy(copy, data, bytes);
			memset(copy + at, 0xfe, 8);
			st_format_arguments(ours, CAPACITY, copy, bytes);
		}
		free(copy);
	}
}

/* More than fits is cut in the program, and the text ends there. */
static void test_too_many(void **state)
{
	static char format[3 * ST_CONVERSION_FORMAT_BYTES];
	static struct st_arguments arguments;
	va_list none = {0};

	(void)state;
	memset(format, '%', sizeof(format) - 1);
	st_arguments_pack(&arguments, format, none);
	assert_true(arguments.cut);
	assert_int_equal(arguments.part_count, 2);
	assert_int_equal(arguments.parts[1].size_bytes, ST_CONVERSION_FORMAT_BYTES);
}

static void floats(double value)
{
	static const char *const formats[] = {
		"%f",	    "%e",      "%g",	"%.0f",	 "%.0e",  "%.0g", "%.1f", "%.3f",
		"%.10f",    "%.17g",   "%.15e", "%.20f", "%#.0f", "%+g",  "% f",  "%12.3f",
		"%-12.3f|", "%012.3f", "%G",	"%E",	 "%.40g", "%.30e"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		char format[16];

		snprintf(format, sizeof(format), "%s", formats[i]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		same(format, value);
#pragma GCC diagnostic pop
	}
}

static void test_floats(void **state)
{
	static const double values[] = {
		0.0,	 -0.0,	  1.0,	    -1.0,   0.5,      1.5,	 2.5,	  0.1,
		0.125,	 9.5,	  99.5,	    999999, 999999.5, 1000000.0, 1e-4,	  9.9999e-5,
		0.00012, 1e15,	  1e16,	    1e22,   1e100,    DBL_MAX,	 DBL_MIN, DBL_TRUE_MIN,
		3.14159, 2.0 / 3, 123456.0, 1e-10,  5e-324,   0.049999,	 0.05,	  9.995};
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		floats(values[i]);
	for (int i = 0; i < 2000; i++) {
		double value;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		memcpy(&value, &seed, sizeof(value));
		if (isfinite(value))
			floats(value);
		floats((double)(int64_t)seed / 1e15);
	}
	becomes("1.00000e+06 1.00000", "%#g %#g", 999999.5, 1.0); /* glibc drops the zeros */
	same("%f %F %e %G", INFINITY, -INFINITY, INFINITY, -INFINITY);
	same("[%8f] [%-8f] [%08f] [%+f]", INFINITY, INFINITY, INFINITY, INFINITY);
	becomes("nan NAN", "%f %F", (double)NAN, (double)NAN);
	same("%Lf %Lg", 1.25L, 2.5L);
	same("%d %f %s %f %d %f", 1, 2.0, "three", 4.0, 5, 6.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_odd),	 cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_floats),	 cmocka_unit_test(test_unterminated),
		cmocka_unit_test(test_damaged),	 cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
