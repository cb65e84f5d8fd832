/** The fields of a response that tests vary. The other fields are those of an ordinary response of the service. */
export interface WireResponse {
  /** Reasoning before the answer. Default: none. */
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly args?: Readonly<Record<string, unknown>>;
    readonly id?: string;
  }[];
  /** Further parts as JSON on the wire, after the others. Default: none. */
  readonly parts?: readonly object[];
  /** The finish reason; null for a chunk that is not the last. Default `STOP`. */
  readonly finishReason?: string | null;
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly responseId?: string;
  readonly modelVersion?: string;
}

/** Returns the JSON of a response, or of one chunk. A string is its text. */
export function wireResponse(response: string | WireResponse): object {
  const {
    thought,
    text,
    calls = [],
    parts = [],
    finishReason = 'STOP',
    usage,
    responseId,
    modelVersion,
  } = typeof response === 'string' ? { text: response } : response;
  const all = [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((call) => ({ functionCall: { args: {}, ...call } })),
    ...parts,
  ];
  return {
    candidates: [{ content: { parts: all, role: 'model' }, ...(finishReason !== null && { finishReason }), index: 0 }],
    modelVersion: modelVersion ?? 'gemini-2.5-flash',
    responseId: responseId ?? 'fake-response',
    ...(usage && { usageMetadata: usage }),
  };
}

/** Returns the chunks of a streamed text. The last one has `finishReason` and usage. */
export function wireChunks(texts: readonly string[], last: WireResponse = {}): object[] {
  return texts.map((text, index) =>
    wireResponse(index === texts.length - 1 ? { ...last, text } : { text, finishReason: null }),
  );
}
