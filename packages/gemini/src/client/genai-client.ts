import type {
  CachedContent,
  Content,
  CreateCachedContentParameters,
  DeleteCachedContentParameters,
  EmbedContentParameters,
  EmbedContentResponse,
  FunctionResponse,
  GenerateContentParameters,
  GenerateContentResponse,
  HttpOptions,
  LiveConnectParameters,
  Session,
} from '@google/genai';

/** The part of `GoogleGenAI` that is used. Every client of that class satisfies it. */
export interface GenAiClient {
  readonly vertexai: boolean;
  readonly models: {
    generateContent(parameters: GenerateContentParameters): Promise<GenerateContentResponse>;
    generateContentStream(parameters: GenerateContentParameters): Promise<AsyncGenerator<GenerateContentResponse>>;
    /** Embeddings; absent if the client does not support them. */
    embedContent?(parameters: EmbedContentParameters): Promise<EmbedContentResponse>;
  };
  /** Caches of the service. Absent: no request is cached. */
  readonly caches?: {
    create(parameters: CreateCachedContentParameters): Promise<CachedContent>;
    delete(parameters: DeleteCachedContentParameters): Promise<unknown>;
  };
  /** Live connections; absent if the client does not support them. */
  readonly live?: { connect(parameters: LiveConnectParameters): Promise<LiveSession> };
}

/** The part of the client's live session that is used. */
export interface LiveSession extends Pick<Session, 'close' | 'sendRealtimeInput'> {
  sendClientContent(parameters: { readonly turns?: Content[]; readonly turnComplete?: boolean }): void;
  sendToolResponse(parameters: { readonly functionResponses: FunctionResponse[] }): void;
}

/** A client that was created here, whose fetch can be observed. Another client may have its own fetch. */
export interface OwnGenAiClient extends GenAiClient {
  readonly own: { readonly fetch: HttpOptions['fetch'] };
}
