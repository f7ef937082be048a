// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	centreWindow,
	clampWindow,
	fitWindow,
	NARROWEST_NS,
	panWindow,
	tickStepNs,
	ticks,
	tickText,
	timeToX,
	xToTime,
	zoomWindow,
} from "./scale";

const whole = { startNs: 0, endNs: 1000 };

test("time and pixels are each other's inverse", () => {
	const window = { startNs: 1e15, endNs: 1e15 + 1e6 };
	for (const x of [0, 1, 333, 800]) assert.equal(timeToX(window, 800, xToTime(window, 800, x)), x);
});

test("zooming keeps what is under the pointer, and stays inside", () => {
	const zoomed = zoomWindow(whole, 0.5, 250, 1000);
	assert.deepEqual(zoomed, { startNs: 125, endNs: 625 });
	assert.equal(timeToX(zoomed, 100, 250), timeToX(whole, 100, 250));
	assert.deepEqual(zoomWindow(zoomed, 100, 250, 1000), whole);
	const least = zoomWindow(whole, 1e-9, 500, 1000);
	assert.equal(least.endNs - least.startNs, NARROWEST_NS);
});

test("panning ends at the ends", () => {
	const window = { startNs: 100, endNs: 300 };
	assert.deepEqual(panWindow(window, -500, 1000), { startNs: 0, endNs: 200 });
	assert.deepEqual(panWindow(window, 5000, 1000), { startNs: 800, endNs: 1000 });
	assert.deepEqual(clampWindow({ startNs: -5, endNs: 2000 }, 1000), whole);
});

test("an event is centred first, then fitted", () => {
	const window = { startNs: 0, endNs: 200 };
	assert.deepEqual(centreWindow(window, 500, 520, 1000), { startNs: 410, endNs: 610 });
	assert.deepEqual(fitWindow(400, 600, 1000), { startNs: 350, endNs: 650 });
});

test("ticks are round and far enough apart", () => {
	assert.equal(tickStepNs({ startNs: 0, endNs: 1e9 }, 1000, 100), 1e8);
	assert.equal(tickStepNs({ startNs: 0, endNs: 1e9 }, 1000, 130), 2e8);
	assert.deepEqual(ticks({ startNs: 150, endNs: 620 }, 1000, 200), [200, 300, 400, 500, 600]);
	assert.equal(tickText(1_500_000_000, 5e8), "1.5 s");
	assert.equal(tickText(1_500_200, 100), "1.5002 ms");
	assert.equal(tickText(0, 2e6), "0 ms");
	assert.equal(tickText(20_000_000, 2e7), "20 ms");
});
