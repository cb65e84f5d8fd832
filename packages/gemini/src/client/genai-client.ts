import type {
  CachedContent,
  Content,
  CreateCachedContentParameters,
  DeleteCachedContentParameters,
  FunctionResponse,
  GenerateContentParameters,
  GenerateContentResponse,
  HttpOptions,
  LiveConnectParameters,
  Session,
} from '@google/genai';

/** What is used of `GoogleGenAI`; any of its clients is one. */
export interface GenAiClient {
  readonly vertexai: boolean;
  readonly models: {
    generateContent(parameters: GenerateContentParameters): Promise<GenerateContentResponse>;
    generateContentStream(parameters: GenerateContentParameters): Promise<AsyncGenerator<GenerateContentResponse>>;
  };
  /** Without it nothing is cached. */
  readonly caches?: {
    create(parameters: CreateCachedContentParameters): Promise<CachedContent>;
    delete(parameters: DeleteCachedContentParameters): Promise<unknown>;
  };
  /** Without it there are no live connections. */
  readonly live?: { connect(parameters: LiveConnectParameters): Promise<LiveSession> };
}

/** What is used of a live session of the client, and with what. */
export interface LiveSession extends Pick<Session, 'close' | 'sendRealtimeInput'> {
  sendClientContent(parameters: { readonly turns?: Content[]; readonly turnComplete?: boolean }): void;
  sendToolResponse(parameters: { readonly functionResponses: FunctionResponse[] }): void;
}

/** A client that was made here, so that its fetch is known and can be watched. Another's may have a fetch of its own. */
export interface OwnGenAiClient extends GenAiClient {
  readonly own: { readonly fetch: HttpOptions['fetch'] };
}
