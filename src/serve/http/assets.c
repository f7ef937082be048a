/* SPDX-License-Identifier: Apache-2.0
 *
 * Serves the files of the page from memory. They are kept compressed; the few clients that do not take that get them
 * unpacked.
 */
#include "serve/http/assets.h"

#include <string.h>
#include <zlib.h>

#include "serve/http/server.h"

enum { GZIP_WINDOW = 15 + 16, FILE_MAX_BYTES = 16 << 20, PART = 64 << 10 };

const char *st_assets_id(void)
{
	return st_assets_bundle_id;
}

static const struct st_asset *find(const char *path)
{
	for (const struct st_asset *asset = st_assets; asset->path; asset++)
		if (strcmp(asset->path, path) == 0)
			return asset;
	return NULL;
}

static bool unpack(const struct st_asset *asset, struct st_buf *out)
{
	unsigned char part[PART];
	z_stream stream = {0};
	int state = Z_OK;

	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return false;
	stream.next_in = (Bytef *)(uintptr_t)asset->packed;
	stream.avail_in = (uInt)(asset->packed_end - asset->packed);
	while (state == Z_OK && out->size_bytes < FILE_MAX_BYTES) {
		stream.next_out = part;
		stream.avail_out = PART;
		state = inflate(&stream, Z_NO_FLUSH);
		st_buf_append(out, part, PART - stream.avail_out);
	}
	inflateEnd(&stream);
	return state == Z_STREAM_END && !out->failed;
}

/* Names with a hash in them never change what they are. */
static bool has_hash(const char *path)
{
	const char *dash = strrchr(path, '-'), *dot = strrchr(path, '.');

	return dash && dot && dot - dash == 9;
}

static void no_page(struct st_exchange *exchange)
{
	static const char text[] =
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Strata"
		"</title></head>\n<body><h1>Strata</h1>\n<p>This strata was built without the web "
		"page: npm was missing. The interface under <code>/api/v1</code> and the command "
		"line are whole.</p>\n<p>To have the page, install Node.js with npm and build "
		"again.</p></body></html>\n";

	exchange->reply.media_type = "text/html; charset=utf-8";
	exchange->reply.is_page = true;
	exchange->reply.fixed = text;
	exchange->reply.fixed_bytes = sizeof(text) - 1;
}

void st_assets_answer(struct st_exchange *exchange)
{
	struct st_web_reply *reply = &exchange->reply;
	const char *path = exchange->request.path;
	const char *last = strrchr(path, '/');
	const struct st_asset *asset = find(path);

	/* A view of the page has an address of its own; the page finds out which one. */
	if (!asset && last && !strchr(last, '.'))
		asset = find("/index.html");
	if (!asset && !st_assets[0].path && last && !strchr(last, '.')) {
		no_page(exchange);
		return;
	}
	if (!asset) {
		st_reply_problem(reply, 404, "path", "There is no such file.", NULL);
		return;
	}
	reply->media_type = asset->media_type;
	reply->is_page = true;
	reply->is_lasting = has_hash(path);
	if (strstr(exchange->request.accept_encoding, "gzip")) {
		reply->is_gzip = true;
		reply->fixed = asset->packed;
		reply->fixed_bytes = (size_t)(asset->packed_end - asset->packed);
	} else if (!unpack(asset, &reply->body)) {
		st_reply_problem(reply, 507, "memory", "out of memory", NULL);
	}
}
