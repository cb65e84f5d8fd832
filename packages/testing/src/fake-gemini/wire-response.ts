/** The varying part of a response of the service; its other fields are those of a plain reply of the real service. */
export interface WireResponse {
  /** Reasoning in front of the answer. */
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly args?: Readonly<Record<string, unknown>>;
    readonly id?: string;
  }[];
  /** Parts as they are on the wire, after those above. */
  readonly parts?: readonly object[];
  /** Null for a chunk that is not the last. Default `STOP`. */
  readonly finishReason?: string | null;
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly responseId?: string;
  readonly modelVersion?: string;
}

/** The JSON of a response, or of one chunk of it. A string is its text. */
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

/** The chunks of a streamed text, the last one with `finishReason` and usage. */
export function wireChunks(texts: readonly string[], last: WireResponse = {}): object[] {
  return texts.map((text, index) =>
    wireResponse(index === texts.length - 1 ? { ...last, text } : { text, finishReason: null }),
  );
}
