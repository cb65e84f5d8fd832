import type { BasePlanner } from './base-planner.ts';

/** True for planners, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBasePlanner(value: unknown): value is BasePlanner {
  return typeof value === 'object' && value !== null && '~eventloom.planner' in value;
}
