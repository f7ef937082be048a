// SPDX-License-Identifier: Apache-2.0
//
// Results have ids on the page and folders on the command line.
import { metaInfo } from "./meta";
import { resultList } from "./use";

/** What follows -r in a command: the folder of the result. */
export function result_path(id: string): string {
	const one = resultList.value?.find((result) => result.id === id);
	const root = metaInfo.value?.data_directory;
	if (!one) return id;
	const inner = one.project ? `${one.project}/${one.name}` : one.name || id;
	return root ? `${root}/${inner}` : inner;
}
