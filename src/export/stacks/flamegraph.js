// SPDX-License-Identifier: Apache-2.0
//
// Zoom, search and details of a flame graph. The drawing is complete without this script: every frame is a
// group of class "f" with its begin, width (ns) and depth as data, a title, a box and a text.
(function () {
	"use strict";
	var svg = document.getElementById("strata-flames");
	var details = document.getElementById("strata-details");
	var matched = document.getElementById("strata-matched");
	var box = document.getElementById("strata-search");
	var reset = document.getElementById("strata-reset");
	var panel = document.getElementById("strata-panel");
	var hint = details.textContent;
	var frames = Array.prototype.map.call(svg.querySelectorAll(".f"), function (g) {
		return {
			g: g,
			rect: g.querySelector("rect"),
			text: g.querySelector("text"),
			title: g.querySelector("title").textContent,
			begin: Number(g.getAttribute("data-b")),
			width: Number(g.getAttribute("data-w")),
			depth: Number(g.getAttribute("data-d"))
		};
	});
	frames.forEach(function (frame) {
		frame.name = frame.title.split("\n")[0];
		frame.g.strataFrame = frame;
	});
	var all = frames[0], shown = all;

	function fit(frame, pixels) {
		var room = Math.floor((pixels - 6) / 6.7);
		if (room < 3)
			return "";
		return frame.name.length <= room ? frame.name : frame.name.slice(0, room - 2) + "..";
	}

	function place(frame, begin, width, full) {
		frame.rect.setAttribute("x", 100 * begin + "%");
		frame.rect.setAttribute("width", 100 * width + "%");
		frame.text.setAttribute("x", 100 * begin + "%");
		frame.text.textContent = fit(frame, full * width);
	}

	function draw() {
		var full = svg.getBoundingClientRect().width || 1200;
		var first = shown.begin, end = shown.begin + shown.width;
		frames.forEach(function (frame) {
			var last = frame.begin + frame.width;
			var around = frame.depth < shown.depth && frame.begin <= first && last >= end;
			var inside = frame.depth >= shown.depth && frame.begin >= first && last <= end;
			frame.g.style.display = around || inside ? "" : "none";
			frame.g.classList.toggle("ancestor", around);
			if (around)
				place(frame, 0, 1, full);
			else if (inside)
				place(frame, (frame.begin - first) / shown.width, frame.width / shown.width, full);
		});
		reset.style.display = shown === all ? "none" : "";
	}

	function zoom(frame) {
		shown = frame;
		draw();
		search();
	}

	// Matching frames lie inside each other: only the outermost of each count.
	function search() {
		var wanted = box.value.toLowerCase(), time = 0, count = 0, ends = [];
		frames.forEach(function (frame) {
			var match = wanted !== "" && frame.name.toLowerCase().indexOf(wanted) >= 0;
			frame.g.classList.toggle("match", match);
			if (!match || frame.begin < shown.begin ||
			    frame.begin + frame.width > shown.begin + shown.width || frame.depth < shown.depth)
				return;
			count += 1;
			ends.push(frame);
		});
		ends.sort(function (a, b) { return a.begin - b.begin || b.width - a.width; });
		var covered = -1;
		ends.forEach(function (frame) {
			if (frame.begin < covered)
				return;
			covered = frame.begin + frame.width;
			time += frame.width;
		});
		matched.textContent = wanted === "" ? "" :
			"matched: " + count + " frames, " + (100 * time / shown.width).toFixed(1) + " % of the time shown";
	}

	function frameOf(target) {
		for (; target && target !== svg; target = target.parentNode)
			if (target.strataFrame)
				return target.strataFrame;
		return null;
	}

	svg.addEventListener("click", function (event) {
		var frame = frameOf(event.target);
		if (frame)
			zoom(frame);
	});
	svg.addEventListener("mouseover", function (event) {
		var frame = frameOf(event.target);
		details.textContent = frame ? frame.title.replace(/\n/g, "   ") : hint;
	});
	reset.addEventListener("click", function () { zoom(all); });
	box.addEventListener("input", search);
	window.addEventListener("keydown", function (event) {
		if ((event.ctrlKey || event.metaKey) && event.key === "f") {
			event.preventDefault();
			box.focus();
			box.select();
		} else if (event.key === "Escape") {
			box.value = "";
			zoom(all);
		}
	});
	window.addEventListener("resize", draw);
	// The panel stays in sight, and the outermost frames are where one begins to read: deep stacks are higher
	// than a window.
	window.addEventListener("scroll", function () {
		panel.setAttribute("transform", "translate(0 " + window.scrollY + ")");
	});
	function showRoot() {
		if (frames.length > 1 && all.rect.getBoundingClientRect().top > frames[1].rect.getBoundingClientRect().top)
			window.scrollTo(0, svg.getBoundingClientRect().height);
	}
	draw();
	showRoot();
	// In a frame of another page there is nothing to scroll before it is loaded.
	window.addEventListener("load", showRoot);
})();
