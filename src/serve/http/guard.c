/* SPDX-License-Identifier: Apache-2.0
 *
 * Host, Origin and Sec-Fetch-Site. A tunnel changes the port, never the name: on a loopback name any port is ours.
 */
#include "serve/http/guard.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "serve/http/reply.h"

static bool is_port(const char *text)
{
	size_t length = strlen(text);

	return length && length <= 5 && strspn(text, "0123456789") == length;
}

bool st_guard_host_name(const char *host, char *out, size_t out_size)
{
	bool bracketed = host[0] == '[';
	size_t length = bracketed ? strcspn(host + 1, "]") : strcspn(host, ":");
	const char *name = bracketed ? host + 1 : host, *rest = name + length;

	out[0] = '\0';
	if (bracketed && *rest != ']')
		return false;
	rest += bracketed;
	if (!length || length >= out_size || (*rest && (*rest != ':' || !is_port(rest + 1))))
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (!isalnum(byte) && !strchr(bracketed ? ":.%" : ".-_", byte))
			return false;
		out[i] = (char)tolower(byte);
	}
	/* "localhost." is the same name. */
	if (length > 1 && !bracketed && out[length - 1] == '.')
		length--;
	out[length] = '\0';
	return true;
}

bool st_guard_is_loopback(const char *name)
{
	size_t length = strlen(name), suffix = strlen(".localhost");
	unsigned int parts = 0;

	if (strcmp(name, "localhost") == 0 || strcmp(name, "::1") == 0)
		return true;
	/* Browsers lead every name below localhost to this machine. */
	if (length > suffix && strcmp(name + length - suffix, ".localhost") == 0)
		return true;
	if (strncmp(name, "127.", 4) != 0 || strspn(name, "0123456789.") != length || length > 15)
		return false;
	for (const char *at = name; *at; at++)
		parts += *at == '.' && isdigit((unsigned char)at[1]);
	return parts == 3;
}

void st_guard_add_name(struct st_guard *guard, const char *name)
{
	char *place;

	if (guard->name_count >= ST_GUARD_NAMES_MAX || !name[0] ||
	    strlen(name) >= ST_GUARD_NAME_MAX)
		return;
	for (size_t i = 0; i < guard->name_count; i++)
		if (strcasecmp(guard->names[i], name) == 0)
			return;
	place = guard->names[guard->name_count];
	for (size_t i = 0; name[i]; i++)
		place[i] = (char)tolower((unsigned char)name[i]);
	guard->name_count++;
}

bool st_guard_set_base(struct st_guard *guard, const char *url)
{
	size_t scheme = strncasecmp(url, "https://", 8) == 0  ? 8
			: strncasecmp(url, "http://", 7) == 0 ? 7
							      : 0;
	size_t length = scheme + strcspn(url + scheme, "/?#");
	char host[ST_GUARD_NAME_MAX], name[ST_GUARD_NAME_MAX];

	if (!scheme || length >= sizeof(guard->base_origin))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)(length - scheme), url + scheme);
	if (!st_guard_host_name(host, name, sizeof(name)))
		return false;
	for (size_t i = 0; i < length; i++)
		guard->base_origin[i] = (char)tolower((unsigned char)url[i]);
	guard->base_origin[length] = '\0';
	st_guard_add_name(guard, name);
	return true;
}

static bool is_ours(const struct st_guard *guard, const char *host)
{
	char name[ST_GUARD_NAME_MAX];

	if (!st_guard_host_name(host, name, sizeof(name)))
		return false;
	if (st_guard_is_loopback(name))
		return true;
	for (size_t i = 0; i < guard->name_count; i++)
		if (strcmp(guard->names[i], name) == 0)
			return true;
	return false;
}

static bool is_origin_of_host(const struct st_web_request *request, const char *scheme)
{
	size_t length = strlen(scheme);

	return strncasecmp(request->origin, scheme, length) == 0 &&
	       strcasecmp(request->origin + length, request->host) == 0;
}

/* The same scheme, name and port as the page that sent it, or the address that a proxy has for us. */
static bool is_own_origin(const struct st_guard *guard, const struct st_web_request *request)
{
	if (is_origin_of_host(request, guard->is_remote ? "https://" : "http://"))
		return true;
	return guard->base_origin[0] && strcasecmp(request->origin, guard->base_origin) == 0;
}

/* It says so itself, or it hands on the name, or the origin, by which others know it. */
bool st_guard_is_proxied(const struct st_web_request *request)
{
	char name[ST_GUARD_NAME_MAX];

	if (request->forwarded[0] || !st_guard_host_name(request->host, name, sizeof(name)) ||
	    !st_guard_is_loopback(name))
		return true;
	return request->origin[0] && !is_origin_of_host(request, "http://") &&
	       !is_origin_of_host(request, "https://");
}

static bool is_json(const char *type)
{
	size_t length = strlen("application/json");

	return strncasecmp(type, "application/json", length) == 0 &&
	       (!type[length] || type[length] == ';' || type[length] == ' ');
}

enum st_guard_verdict st_guard_check(const struct st_guard *guard,
				     const struct st_web_request *request)
{
	bool is_api = strncmp(request->path, "/api/", 5) == 0;
	bool acts = strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0;

	if (!is_ours(guard, request->host))
		return ST_GUARD_HOST;
	if (!is_api && !acts)
		return ST_GUARD_OK; /* the page itself: a link may lead to it */
	if (request->fetch_site[0] && strcmp(request->fetch_site, "same-origin") != 0 &&
	    strcmp(request->fetch_site, "none") != 0)
		return ST_GUARD_ORIGIN;
	if (request->origin[0] && !is_own_origin(guard, request))
		return ST_GUARD_ORIGIN;
	if (acts && strcmp(request->method, "DELETE") != 0 && !is_json(request->content_type))
		return ST_GUARD_TYPE;
	return ST_GUARD_OK;
}
