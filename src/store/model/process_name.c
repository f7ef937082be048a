// SPDX-License-Identifier: Apache-2.0
//
// How a process is called in reports: the program's name, or the script's when the program is an
// interpreter, and the command line as a person would type it.
#include "store/model/model.h"

#include <string.h>

enum { LINE_MAX_BYTES = 16 << 20 };

static struct st_text base_name(struct st_text path)
{
	for (size_t i = path.size_bytes; i > 0; i--) {
		if (path.bytes[i - 1] == '/')
			return (struct st_text){.bytes = path.bytes + i,
						.size_bytes = path.size_bytes - i};
	}
	return path;
}

/* The argument that begins at *at; false behind the last one. */
static bool next_argument(struct st_text arguments, size_t *at, struct st_text *out)
{
	const char *end;

	if (*at >= arguments.size_bytes)
		return false;
	out->bytes = arguments.bytes + *at;
	out->size_bytes = arguments.size_bytes - *at;
	end = memchr(out->bytes, '\0', out->size_bytes);
	if (end)
		out->size_bytes = (size_t)(end - out->bytes);
	*at += out->size_bytes + 1;
	return true;
}

static bool text_is(struct st_text text, const char *word)
{
	return text.size_bytes == strlen(word) && memcmp(text.bytes, word, text.size_bytes) == 0;
}

struct interpreter {
	const char *name;	 /* also with a version behind: python3.11 */
	const char *value_flags; /* one-letter options that take the next argument */
	const char *code_flags;	 /* options after which no script follows */
	char module_flag;	 /* the next argument names a module, or 0 */
};

static const struct interpreter interpreters[] = {
	{"python", "WX", "c", 'm'}, {"bash", "oO", "cs", 0}, {"sh", "o", "cs", 0},
	{"dash", "o", "cs", 0},	    {"zsh", "o", "cs", 0},   {"ksh", "o", "cs", 0},
	{"perl", "IMm", "eE", 0},   {"ruby", "IrC", "e", 0}, {"node", "r", "ep", 0},
	{"Rscript", "", "e", 0},    {"lua", "l", "e", 0},
};

static const struct interpreter *find_interpreter(struct st_text program)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++) {
		size_t length = strlen(interpreters[i].name), at = length;

		if (program.size_bytes < length ||
		    memcmp(program.bytes, interpreters[i].name, length) != 0)
			continue;
		while (at < program.size_bytes && strchr("0123456789.", program.bytes[at]))
			at++;
		if (at == program.size_bytes)
			return &interpreters[i];
	}
	return NULL;
}

/* The script or module an interpreter was told to run; false when it reads code from elsewhere. */
static bool find_script(const struct interpreter *interpreter, struct st_text arguments, size_t at,
			struct st_text *out)
{
	struct st_text argument;

	while (next_argument(arguments, &at, &argument)) {
		char last;

		if (text_is(argument, "--"))
			continue;
		if (argument.size_bytes < 2 || argument.bytes[0] != '-') {
			*out = base_name(argument);
			return out->size_bytes > 0 && !text_is(*out, "-");
		}
		if (argument.bytes[1] == '-')
			continue;
		/* Flags may be joined ("-uc code"); only the last one can take what follows. */
		last = argument.bytes[argument.size_bytes - 1];
		if (interpreter->module_flag && last == interpreter->module_flag)
			return next_argument(arguments, &at, out) && out->size_bytes > 0;
		if (strchr(interpreter->code_flags, last))
			return false;
		if (argument.size_bytes == 2 && strchr(interpreter->value_flags, last))
			next_argument(arguments, &at, &argument);
	}
	return false;
}

static bool is_plain(struct st_text argument)
{
	static const char marks[] = "_@%+=:,./-";

	for (size_t i = 0; i < argument.size_bytes; i++) {
		char c = argument.bytes[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!letter && (!c || !strchr(marks, c)))
			return false;
	}
	return argument.size_bytes > 0;
}

/* As a shell wants it: plain words bare, others in single quotes. */
static void append_quoted(struct st_buf *out, struct st_text argument)
{
	if (out->size_bytes)
		st_buf_append_u8(out, ' ');
	if (is_plain(argument)) {
		st_buf_append(out, argument.bytes, argument.size_bytes);
		return;
	}
	st_buf_append_u8(out, '\'');
	for (size_t i = 0; i < argument.size_bytes; i++) {
		if (argument.bytes[i] == '\'')
			st_buf_append_text(out, "'\\''");
		else
			st_buf_append_u8(out, (uint8_t)argument.bytes[i]);
	}
	st_buf_append_u8(out, '\'');
}

bool st_command_line(struct st_text_table *texts, struct st_text arguments, st_string_id *out)
{
	struct st_text argument;
	struct st_buf line;
	size_t at = 0;
	bool ok;

	st_buf_init(&line, LINE_MAX_BYTES);
	while (next_argument(arguments, &at, &argument))
		append_quoted(&line, argument);
	ok = !line.failed && st_text_table_add(texts, line.data, line.size_bytes, out);
	st_buf_fini(&line);
	return ok;
}

bool st_process_describe(struct st_text_table *texts, struct st_text arguments,
			 struct st_process *process)
{
	struct st_text executable = st_text_table_get(texts, process->executable);
	const struct interpreter *interpreter;
	struct st_text name, script, argument = {.bytes = "", .size_bytes = 0};
	size_t at = 0;

	name = base_name(executable);
	if (next_argument(arguments, &at, &argument) && !name.size_bytes)
		name = base_name(argument);
	interpreter = find_interpreter(name);
	if (!interpreter)
		interpreter = find_interpreter(base_name(argument));
	if (interpreter && find_script(interpreter, arguments, at, &script))
		name = script;
	if (!st_text_table_add(texts, name.bytes, name.size_bytes, &process->name))
		return false;
	return st_command_line(texts, arguments.size_bytes ? arguments : executable,
			       &process->command_line);
}
