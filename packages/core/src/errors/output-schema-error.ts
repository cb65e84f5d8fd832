import { EventloomError } from './eventloom-error.ts';

/** The model's answer did not match `outputSchema`, also after it was told what was wrong. */
export class OutputSchemaError extends EventloomError {
  static override readonly code = 'OUTPUT_SCHEMA';
}
