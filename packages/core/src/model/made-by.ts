import type { Part } from '../content/content.ts';
import { isRecord } from '../content/json.ts';

/**
 * The provider that made a part, and the data that only this provider reads, such as the signature of a thought. Kept in
 * `part.partMetadata.madeBy`. Parts without a record come from Gemini, from a person or from the runtime.
 */
export interface MadeBy {
  /** Name of the provider, e.g. `anthropic.messages`. */
  readonly provider: string;
  /** The provider's data, which goes back to it with the part. */
  readonly providerMetadata?: Readonly<Record<string, unknown>>;
  /** Kind of a part that only the provider understands, e.g. `openai.compaction`. The part has no text. */
  readonly kind?: string;
}

/** Returns the record of a part; undefined for a part without one. */
export function madeByOf({ partMetadata }: Part): MadeBy | undefined {
  const record = partMetadata?.['madeBy'];
  if (!isRecord(record) || typeof record['provider'] !== 'string') return undefined;
  const { provider, providerMetadata, kind } = record;
  return {
    provider,
    ...(isRecord(providerMetadata) && { providerMetadata }),
    ...(typeof kind === 'string' && { kind }),
  };
}
