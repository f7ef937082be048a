// SPDX-License-Identifier: Apache-2.0
//
// Always visible: whether the data is complete. It opens Diagnostics, where each loss is counted.
import { currentResult, useReport } from "../api/use";
import { Icon } from "../components/Icon";
import { whole } from "../format";
import { go } from "../state/view";

export function QualityBadge() {
	const { data, error } = useReport(currentResult() ? ["quality"] : null, undefined, true);
	if (error) return <Badge kind="warn" text="quality unknown" />;
	if (!data) return <Badge kind="" text="quality …" />;
	const lost = Number(data.quality.lost ?? 0);
	const poor = data.rows.filter((row) => row.verdict && row.verdict !== "good");
	if (lost) return <Badge kind="bad" text={`${whole(lost)} lost`} />;
	if (poor.length) return <Badge kind="warn" text={`${poor.length} to note`} />;
	return <Badge kind="good" text="data complete" />;
}

function Badge({ kind, text }: { kind: string; text: string }) {
	return (
		<button
			type="button"
			class={`badge ${kind}`}
			data-tip="Data quality: what was lost, cut or estimated"
			onClick={() => go("diagnostics")}
		>
			<Icon name={kind === "good" ? "check" : "warn"} size={13} />
			{text}
		</button>
	);
}
