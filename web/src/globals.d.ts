// SPDX-License-Identifier: Apache-2.0
/** Set by build.mjs: the hash over the sources of this bundle. */
declare const STRATA_BUNDLE: string;
