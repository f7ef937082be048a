/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies that say what went wrong, always in the same form.
 */
#include "serve/http/reply.h"

#include <string.h>
#include <unistd.h>

#include "base/json_out.h"

void st_reply_init(struct st_web_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->status = 200;
	reply->media_type = "application/json";
	reply->file_fd = -1;
	st_buf_init(&reply->body, SIZE_MAX / 4);
}

void st_reply_fini(struct st_web_reply *reply)
{
	if (reply->file_fd >= 0)
		close(reply->file_fd);
	reply->file_fd = -1;
	st_buf_fini(&reply->body);
}

const char *st_status_title(int status)
{
	static const struct {
		int status;
		const char *title;
	} titles[] = {
		{400, "The request is not valid"},
		{401, "Log in first"},
		{403, "Not allowed"},
		{404, "Not found"},
		{405, "This cannot be done there"},
		{409, "Not now"},
		{413, "The request is too large"},
		{415, "JSON is expected"},
		{421, "This server does not answer to that name"},
		{422, "The result cannot be read"},
		{429, "Too many attempts"},
		{431, "Too many headers"},
		{499, "Cancelled"},
		{500, "The server failed"},
		{501, "Not available here"},
		{502, "The worker ended"},
		{503, "The server is busy"},
		{507, "Out of memory"},
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "The request failed";
}

void st_reply_problem(struct st_web_reply *reply, int status, const char *code, const char *detail,
		      const char *hint)
{
	struct st_json json;

	st_buf_clear(&reply->body);
	reply->status = status;
	reply->media_type = "application/problem+json";
	st_json_init(&json, &reply->body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "title", st_status_title(status));
	st_json_put_i64(&json, "status", status);
	st_json_put_text(&json, "code", code);
	st_json_put_text(&json, "detail", detail);
	st_json_put_text(&json, "hint", hint);
	st_json_object_end(&json);
	st_buf_append_u8(&reply->body, '\n');
}

void st_reply_error(struct st_web_reply *reply, const struct st_error *err)
{
	static const struct {
		int status;
		const char *code;
	} rows[] = {
		[ST_OK] = {500, "unknown"},
		[ST_EUSAGE] = {400, "usage"},
		[ST_ENOMEM] = {507, "memory"},
		[ST_EIO] = {500, "system"},
		[ST_ECORRUPT] = {422, "damaged"},
		[ST_EVERSION] = {422, "version"},
		[ST_ENOTFOUND] = {404, "not-found"},
		[ST_EEXIST] = {409, "exists"},
		[ST_EUNSUPPORTED] = {501, "unsupported"},
	};
	size_t at = (size_t)err->status < sizeof(rows) / sizeof(rows[0]) ? err->status : ST_OK;

	st_reply_problem(reply, rows[at].status, rows[at].code, err->text, NULL);
}
