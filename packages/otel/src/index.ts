export { openTelemetry } from './open-telemetry.ts';
export type { ModelPrice, OpenTelemetryOptions } from './open-telemetry.ts';
