import type { GeminiPath } from './parse-gemini-path.ts';

/** A request as the fake server got it. */
export interface FakeGeminiRequest extends GeminiPath {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** A number for the connection it came on: requests of one connection have the same. */
  readonly connection: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON. */
  readonly body: FakeGeminiRequestBody;
  /** True when the client closed the connection before the answer was complete; settled by `ended`. */
  readonly closedByClient: boolean;
  /** Settles when the exchange has ended: answered in full, or interrupted by either side. */
  readonly ended: Promise<void>;
}

/** The fields of a request's body that tests read, as they arrived. */
export interface FakeGeminiRequestBody {
  readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Record<string, unknown>[] }[];
  readonly systemInstruction?: { readonly parts?: readonly { readonly text?: string }[] };
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly Record<string, unknown>[];
  readonly toolConfig?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}
