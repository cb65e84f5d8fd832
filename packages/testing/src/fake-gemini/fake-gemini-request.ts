/** A request as the fake server got it. */
export interface FakeGeminiRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** `v1`, `v1beta`, … */
  readonly apiVersion: string;
  /** The model's id without its path; empty for requests about caches. */
  readonly model: string;
  /** True for `:streamGenerateContent`. */
  readonly stream: boolean;
  /** Only on the Vertex AI paths. */
  readonly project?: string;
  readonly location?: string;
  /** Of requests about caches: the id of the one that is deleted; empty when one is made. */
  readonly cachedContent?: string;
  /** A number for the connection it came on: requests of one connection have the same. */
  readonly connection: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON. */
  readonly body: FakeGeminiRequestBody;
  /** True when the client closed the connection before the answer was complete; settled by `ended`. */
  readonly closedByClient: boolean;
  /** Settles when the exchange is over: answered in full, or cut off by either side. */
  readonly ended: Promise<void>;
}

/** What of a request's body tests look at; it is JSON as it came. */
export interface FakeGeminiRequestBody {
  readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Record<string, unknown>[] }[];
  readonly systemInstruction?: { readonly parts?: readonly { readonly text?: string }[] };
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly Record<string, unknown>[];
  readonly toolConfig?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}
