// SPDX-License-Identifier: Apache-2.0
//
// A curve of a few letters' size: how a value goes from step to step. Its figures are in the tooltip.

const WIDTH = 96;
const HEIGHT = 16;

/** The points of the line; a single value is a flat one. */
export function spark_points(values: number[], width = WIDTH, height = HEIGHT): string {
	const top = Math.max(...values, 0);
	const y = (value: number) => (top > 0 ? height - 1 - (value / top) * (height - 2) : height - 1);
	if (values.length === 1) return `0,${y(values[0]!).toFixed(1)} ${width},${y(values[0]!).toFixed(1)}`;
	const step = width / (values.length - 1);
	return values.map((value, i) => `${(i * step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
}

export function Sparkline({ values, text }: { values: number[]; text: string }) {
	if (!values.length) return null;
	return (
		<svg
			class="sparkline"
			width={WIDTH}
			height={HEIGHT}
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			role="img"
			aria-label={text}
			data-tip={text}
			data-values={values.join(",")}
		>
			<polyline points={spark_points(values)} />
		</svg>
	);
}
