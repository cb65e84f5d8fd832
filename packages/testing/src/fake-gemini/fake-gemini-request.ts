import type { GeminiPath } from './parse-gemini-path.ts';

/** A request that the fake server received. */
export interface FakeGeminiRequest extends GeminiPath {
  readonly method: string;
  /** Path and query of the address. */
  readonly path: string;
  /** Number of the connection, the same for all of its requests. */
  readonly connection: number;
  /** Headers of the request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, parsed from JSON. */
  readonly body: FakeGeminiRequestBody;
  /** True if the client closed the connection before the response was complete. Final once `ended` has settled. */
  readonly closedByClient: boolean;
  /** Settles once the response is complete or either side has closed the connection. */
  readonly ended: Promise<void>;
}

/** The fields of a request's body that tests read most. */
export interface FakeGeminiRequestBody {
  readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Record<string, unknown>[] }[];
  readonly systemInstruction?: { readonly parts?: readonly { readonly text?: string }[] };
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly Record<string, unknown>[];
  readonly toolConfig?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}
