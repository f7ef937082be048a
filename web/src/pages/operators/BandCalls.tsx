// SPDX-License-Identifier: Apache-2.0
//
// The calls behind a band of the histogram, the longest first; each opens on the timeline.
import { query, sqlText } from "../../api/client";
import { useAnswer } from "../../api/use";
import { Failed } from "../../components/Empty";
import type { Bin } from "../../components/Histogram";
import { Icon } from "../../components/Icon";
import { ViewLink } from "../../components/Link";
import { ns, whole } from "../../format";
import { EMPTY, view } from "../../state/view";

const MOST = 50;

/** Which slices the histogram counted in the band: no copies, no twins, by where they begin. */
export function band_statement(operator: string, band: Bin, range: [number, number] | null): string {
	const where = [
		`task_type = ${sqlText(operator)}`,
		"copy = 0",
		"twin = 0",
		`wall_ns >= ${Math.round(band.from)}`,
		`wall_ns < ${Math.round(band.to)}`,
		...(range ? [`start_ns >= ${range[0]}`, `start_ns < ${range[1]}`] : []),
	];
	const columns = "row, start_ns, end_ns, wall_ns, thread, python_line";
	return `SELECT ${columns} FROM slices WHERE ${where.join(" AND ")} ORDER BY wall_ns DESC, row LIMIT ${MOST}`;
}

export function BandCalls({ operator, band, close }: { operator: string; band: Bin; close: () => void }) {
	const { result, range, filters } = view.value;
	const sql = band_statement(operator, band, range);
	const { data, error } = useAnswer(JSON.stringify([result, sql]), (signal) => query(result, sql, signal));
	if (error) return <Failed error={error} />;
	if (!data) return <div class="skeleton" aria-busy="true" />;
	return (
		<section class="band-calls" aria-label="Calls in the band">
			<p>
				<b data-count={band.count}>{whole(band.count)} calls</b> of {ns(band.from)} to {ns(band.to)}
				{band.count > data.rows.length && data.rows.length === MOST ? `, the longest ${MOST}` : ""}
				{filters.length > 0 && ", listed without the filters"}
				<button type="button" class="icon-button" aria-label="Let go of the band" onClick={close}>
					<Icon name="close" size={12} />
				</button>
			</p>
			<table class="plain-table">
				<thead>
					<tr>
						<th scope="col" class="number">
							Duration
						</th>
						<th scope="col" class="number">
							Start
						</th>
						<th scope="col">Thread</th>
						<th scope="col">Line</th>
					</tr>
				</thead>
				<tbody>
					{data.rows.map((row) => {
						const begin = Number(row.start_ns);
						const width = Math.max(1, Number(row.end_ns) - begin);
						const around = `${Math.max(0, begin - width)}-${begin + 2 * width}`;
						const to = { ...EMPTY, result, page: "timeline", range, filters };
						return (
							<tr key={Number(row.row)} data-row={Number(row.row)}>
								<td class="number">
									<ViewLink to={{ ...to, params: { event: `slice:${row.row}`, w: around } }}>
										{ns(Number(row.wall_ns))}
									</ViewLink>
								</td>
								<td class="number">{ns(begin)}</td>
								<td>{String(row.thread ?? "")}</td>
								<td class="mono">{String(row.python_line ?? "")}</td>
							</tr>
						);
					})}
				</tbody>
			</table>
		</section>
	);
}
