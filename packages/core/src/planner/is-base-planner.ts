import type { BasePlanner } from './base-planner.ts';

/** Marks planners. Apart from the class, so that an agent without one does not bring it along. */
export const PLANNER_BRAND: unique symbol = Symbol.for('eventloom.planner') as never;

/** True for planners, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBasePlanner(value: unknown): value is BasePlanner {
  return typeof value === 'object' && value !== null && PLANNER_BRAND in value;
}
