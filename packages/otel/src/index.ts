// Spans and metrics through the program's OpenTelemetry SDK.
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
export type { ModelPrice } from './span-record.ts';

// Spans without an SDK.
export { SpanExportError } from './errors.ts';
export { OtlpExporter } from './otlp-exporter.ts';
export type { ExportedSpans, OtlpExporterOptions } from './otlp-exporter.ts';
