// SPDX-License-Identifier: Apache-2.0
//
// The lines of the summary about devices: "DEVICE  device 0 busy 63.1 % of 5.21 s: 5,300 kernels …".
#include "analyze/summary/report_summary.h"
#include "export/report/show.h"
#include "export/report/text_summary.h"

void st_summary_show_devices(struct st_text_job *job)
{
	const struct st_cell *device;

	for (uint32_t i = 0; (device = st_summary_row(job, "device", i)); i++) {
		struct st_flow flow;

		st_summary_begin(job, &flow, i ? "" : "DEVICE");
		st_buf_append(&flow.piece, device[ST_SUMMARY_NAME].as.text.bytes,
			      device[ST_SUMMARY_NAME].as.text.size_bytes);
		st_buf_append_text(&flow.piece, " busy ");
		st_show_cell(&flow.piece, &device[ST_SUMMARY_RATIO], "ratio", 0);
		st_buf_append_text(&flow.piece, " of ");
		st_show_cell(&flow.piece, &device[ST_SUMMARY_TOTAL], "ns", 0);
		st_buf_append_text(&flow.piece, ":");
		st_flow_piece(&flow, "");
		st_flow_words(&flow, device[ST_SUMMARY_VALUE].as.text, 0);
		st_flow_end(&flow);
	}
}
