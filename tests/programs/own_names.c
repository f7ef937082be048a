/* SPDX-License-Identifier: Apache-2.0
 *
 * With -DLIBRARY a library with functions that have names of libc's but are others: what they get and give back is theirs. One is
 * called by a constructor, in front of everybody else's. Else a program that is linked to it.
 */
#include <stdio.h>

void own_names(void);

#ifdef LIBRARY
struct thing {
	int value;
};

/* Not those of the headers, which are not included. */
double wait(const struct thing *thing, double more, int a, int b, int c, int d, int e, int f);
const char *connect(const char *one, const char *other);

double wait(const struct thing *thing, double more, int a, int b, int c, int d, int e, int f)
{
	return thing->value + more + a + b + c + d + e + f;
}

const char *connect(const char *one, const char *other)
{
	static char text[32];

	snprintf(text, sizeof(text), "%s-%s", one, other);
	return text;
}

void own_names(void)
{
	struct thing thing = {3};

	printf("%g %s\n", wait(&thing, 0.5, 1, 2, 3, 4, 5, 6), connect("one", "other"));
}

__attribute__((constructor)) static void early(void)
{
	own_names();
}
#else
int main(void)
{
	own_names();
	return 0;
}
#endif
