import { ConfigurationError, type ReadonlyContext, type ToolProcessLlmRequest } from '@eventloom/core';
import { checkOptions, integer, type OptionRules } from '@eventloom/core/internal';
import { addServiceTool, geminiVersion } from './add-service-tool.ts';
import { ServiceTool } from './search-tools.ts';

/** A data store of a search engine. */
export interface VertexAISearchDataStoreSpec {
  /** Resource name of the data store: `projects/P/locations/L/collections/C/dataStores/D`. */
  readonly dataStore?: string;
  /** Filter expression for this store. Default: none. */
  readonly filter?: string;
}

/** The parameters of a search, in the form of Vertex AI Search. */
export interface VertexAISearchConfig {
  readonly datastore?: string | undefined;
  readonly dataStoreSpecs?: readonly VertexAISearchDataStoreSpec[] | undefined;
  readonly engine?: string | undefined;
  readonly filter?: string | undefined;
  readonly maxResults?: number | undefined;
}

/** Options of `VertexAiSearchTool`: either `dataStoreId` or `searchEngineId`. */
export interface VertexAiSearchToolParams {
  /** Resource name of the data store: `projects/P/locations/L/collections/C/dataStores/D`. */
  readonly dataStoreId?: string | undefined;
  /** Resource name of the search engine: `projects/P/locations/L/collections/C/engines/E`. */
  readonly searchEngineId?: string | undefined;
  /** Data stores of the engine to search. Default: all. Only with `searchEngineId`. */
  readonly dataStoreSpecs?: readonly VertexAISearchDataStoreSpec[] | undefined;
  /** Filter expression of Vertex AI Search. Default: none. */
  readonly filter?: string | undefined;
  /** Maximum number of results, 1 to 10. Default: that of the service. */
  readonly maxResults?: number | undefined;
  /** True offers the tool together with other tools also to Gemini 1, which may refuse them. Default false. */
  readonly bypassMultiToolsLimit?: boolean | undefined;
}

const OPTIONS: OptionRules<VertexAiSearchToolParams> = {
  dataStoreId: 'text',
  searchEngineId: 'text',
  dataStoreSpecs: 'list',
  filter: 'text',
  maxResults: integer(1),
  bypassMultiToolsLimit: 'flag',
};
const STORE = 'projects/P/locations/L/collections/default_collection/dataStores/D';

/**
 * Vertex AI Search over a data store or a search engine, on Vertex AI only. The service searches while the model answers.
 *
 * @example const handbook = new VertexAiSearchTool({ dataStoreId:
 * 'projects/p/locations/global/collections/default_collection/dataStores/handbook' });
 */
export class VertexAiSearchTool extends ServiceTool {
  readonly dataStoreId: string | undefined;
  readonly searchEngineId: string | undefined;
  readonly dataStoreSpecs: readonly VertexAISearchDataStoreSpec[] | undefined;
  readonly filter: string | undefined;
  readonly maxResults: number | undefined;
  readonly bypassMultiToolsLimit: boolean;

  /**
   * @throws ConfigurationError unless exactly one of `dataStoreId` and `searchEngineId` is given, for `dataStoreSpecs` without
   * `searchEngineId`, and for an unknown option
   */
  constructor(params: VertexAiSearchToolParams) {
    checkOptions('VertexAiSearchTool', OPTIONS, params, { dataStore: 'did you mean "dataStoreId"?' });
    const { dataStoreId, searchEngineId, dataStoreSpecs, filter, maxResults, bypassMultiToolsLimit = false } = params;
    if ((dataStoreId === undefined) === (searchEngineId === undefined))
      throw new ConfigurationError(
        `VertexAiSearchTool: needs either dataStoreId or searchEngineId; write dataStoreId: '${STORE}'`,
      );
    if (dataStoreSpecs !== undefined && searchEngineId === undefined)
      throw new ConfigurationError(
        'VertexAiSearchTool: dataStoreSpecs select stores of an engine; write searchEngineId instead of dataStoreId',
      );
    super({ name: 'vertex_ai_search', description: 'Searches documents with Vertex AI Search.' });
    this.dataStoreId = dataStoreId;
    this.searchEngineId = searchEngineId;
    this.dataStoreSpecs = dataStoreSpecs;
    this.filter = filter;
    this.maxResults = maxResults;
    this.bypassMultiToolsLimit = bypassMultiToolsLimit;
  }

  /** Returns the search of one request. A subclass may override it, for example to filter by the session's state. */
  protected buildVertexAiSearchConfig(_context: ReadonlyContext): VertexAISearchConfig | Promise<VertexAISearchConfig> {
    return {
      datastore: this.dataStoreId,
      dataStoreSpecs: this.dataStoreSpecs,
      engine: this.searchEngineId,
      filter: this.filter,
      maxResults: this.maxResults,
    };
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    if (!llmRequest.model) return;
    const search = await this.buildVertexAiSearchConfig(toolContext);
    const vertexAiSearch = Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
    const tool = { retrieval: { vertexAiSearch } };
    if (this.bypassMultiToolsLimit && geminiVersion(llmRequest.model) === 1)
      llmRequest.config.tools = [...(llmRequest.config.tools ?? []), tool];
    else addServiceTool(llmRequest, 'VertexAiSearchTool', tool);
  }
}

/** The structure of a `VertexRagStore` of `@google/genai`. */
export interface VertexRagStore {
  /** Corpora: `projects/P/locations/L/ragCorpora/C`. The service accepts one. */
  readonly ragResources?: readonly { readonly ragCorpus?: string; readonly ragFileIds?: readonly string[] }[];
  readonly ragCorpora?: readonly string[];
  readonly ragRetrievalConfig?: object;
  /** Maximum number of passages. */
  readonly similarityTopK?: number;
  /** Passages at a greater distance are left out. */
  readonly vectorDistanceThreshold?: number;
  readonly storeContext?: boolean;
}

const STORE_OPTIONS: OptionRules<VertexRagStore> = {
  ragResources: 'list',
  ragCorpora: 'list',
  ragRetrievalConfig: 'object',
  similarityTopK: 'number',
  vectorDistanceThreshold: 'number',
  storeContext: 'flag',
};

/**
 * A tool that retrieves passages from a corpus of the RAG engine of Vertex AI, on Vertex AI only. The service runs it
 * while the model answers.
 *
 * @example
 * const manuals = new VertexRagRetrievalTool({
 *   ragResources: [{ ragCorpus: 'projects/p/locations/us-central1/ragCorpora/1' }],
 *   similarityTopK: 5,
 * });
 */
export class VertexRagRetrievalTool extends ServiceTool {
  readonly #store: VertexRagStore;

  /** @throws ConfigurationError without a corpus, and for an unknown option */
  constructor(store: VertexRagStore) {
    checkOptions('VertexRagRetrievalTool', STORE_OPTIONS, store);
    if (!store.ragResources?.length && !store.ragCorpora?.length)
      throw new ConfigurationError(
        "VertexRagRetrievalTool: needs a corpus; write ragResources: [{ ragCorpus: 'projects/P/locations/L/ragCorpora/C' }]",
      );
    super({ name: 'vertex_rag_retrieval', description: 'Retrieves passages from a corpus of Vertex AI.' });
    this.#store = store;
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    addServiceTool(llmRequest, 'VertexRagRetrievalTool', { retrieval: { vertexRagStore: this.#store } });
  }
}
