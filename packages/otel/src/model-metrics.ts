import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import { TOKEN_TYPE } from './semantic-conventions.ts';

/** Bucket boundaries of the conventions, in seconds and in tokens. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

/** The measures of one model call. */
interface ModelCallMeasure {
  readonly durationMs: number;
  readonly firstChunkMs: number | undefined;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly cost: number | undefined;
}

/** The metrics of model calls. */
export class ModelMetrics {
  readonly #duration: Histogram;
  readonly #firstChunk: Histogram;
  readonly #tokens: Histogram;
  readonly #cost: Counter;

  constructor(meter: Meter, currency: string) {
    const seconds = { unit: 's', advice: { explicitBucketBoundaries: SECONDS } };
    this.#duration = meter.createHistogram('gen_ai.client.operation.duration', {
      ...seconds,
      description: 'Duration of a model call.',
    });
    this.#firstChunk = meter.createHistogram('gen_ai.client.operation.time_to_first_chunk', {
      ...seconds,
      description: 'Time from the request to the first chunk of a streamed reply.',
    });
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
      description: 'Tokens of a model call, input and output separately.',
    });
    this.#cost = meter.createCounter('eventloom.client.cost', {
      unit: `{${currency}}`,
      description: 'Costs of model calls, by the prices of the options.',
    });
  }

  record(measure: ModelCallMeasure, attributes: Attributes): void {
    const { durationMs, firstChunkMs, inputTokens, outputTokens, cost } = measure;
    this.#duration.record(durationMs / 1000, attributes);
    if (firstChunkMs !== undefined) this.#firstChunk.record(firstChunkMs / 1000, attributes);
    if (inputTokens !== undefined) this.#tokens.record(inputTokens, { ...attributes, [TOKEN_TYPE]: 'input' });
    if (outputTokens !== undefined) this.#tokens.record(outputTokens, { ...attributes, [TOKEN_TYPE]: 'output' });
    if (cost !== undefined) this.#cost.add(cost, attributes);
  }
}
