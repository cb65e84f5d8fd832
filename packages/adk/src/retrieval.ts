import {
  BaseTool,
  type BaseToolParams,
  ConfigurationError,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import { checkOptions, isRecord, type OptionRules } from '@eventloom/core/internal';
import { type EmbeddingPurpose, GeminiEmbedder } from '@eventloom/gemini';
import { readTextFiles } from '#runtime';
import { geminiInitParams, unsetBaseUrl } from './gemini.ts';

/** A tool with one argument, `query`, that finds text. Subclasses have `runAsync`. */
export abstract class BaseRetrievalTool extends BaseTool {
  override _getDeclaration(): FunctionDeclaration {
    const query = { type: 'string', description: 'What to look for.' };
    const parametersJsonSchema = { type: 'object', properties: { query }, required: ['query'] };
    return { name: this.name, description: this.description, parametersJsonSchema };
  }
}

/** A text that a retriever found: a `NodeWithScore` of LlamaIndex, or an object of the same form. */
export interface LlamaIndexNodeWithScore {
  readonly node: LlamaIndexNode;
  readonly score?: number | undefined;
}

/** The part of a node of LlamaIndex that holds the text. */
export interface LlamaIndexNode {
  readonly text?: string | undefined;
}

/** Finds texts, the nearest first: a retriever of LlamaIndex, or an object of your own. */
export interface LlamaIndexRetriever {
  retrieve(query: string): Promise<readonly LlamaIndexNodeWithScore[]>;
}

/** Options of a `LlamaIndexRetrieval`. */
export interface LlamaIndexRetrievalParams extends Pick<BaseToolParams, 'name' | 'description'> {
  readonly retriever: LlamaIndexRetriever;
}

const RETRIEVER = { is: 'object', wanted: 'an object with retrieve', write: 'index.asRetriever()' } as const;
const NAMES = { name: 'text', description: 'text' } as const;
const RETRIEVAL: OptionRules<LlamaIndexRetrievalParams> = { ...NAMES, retriever: RETRIEVER };

/**
 * A tool that gives the model the first text that a retriever finds.
 *
 * @example
 * const retriever = { retrieve: async (query: string) => [{ node: { text: `Nothing is known about ${query}.` } }] };
 * const tool = new LlamaIndexRetrieval({ name: 'handbook', description: 'Searches the handbook.', retriever });
 */
export class LlamaIndexRetrieval extends BaseRetrievalTool {
  readonly retriever: LlamaIndexRetriever;

  /** @throws ConfigurationError for a missing name, description or retriever, and an unknown option */
  constructor(params: LlamaIndexRetrievalParams) {
    checkOptions(new.target.name, RETRIEVAL, params);
    super({ name: params.name, description: params.description, idempotent: true });
    if (!params.retriever)
      throw new ConfigurationError(
        `tool "${params.name}": retriever is missing; write retriever: { retrieve: async (query) => [{ node: { text: '…' } }] }`,
      );
    this.retriever = params.retriever;
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const { query } = args;
    if (typeof query !== 'string') return { error: 'query: expected a text; write what to look for' };
    const [first] = await this.retriever.retrieve(query);
    return first ? first.node.text : { error: `${this.name} found nothing for this query` };
  }
}

/** Options of `FilesRetrieval.create`. */
export interface FilesRetrievalParams extends Pick<BaseToolParams, 'name' | 'description'> {
  /** The folder whose text files are searched, with those below it. */
  readonly inputDir: string;
  /** Converts texts to vectors. Default: a `GeminiEmbedder` with the key, or the project, of the environment. */
  readonly embedder?: TextEmbedder | undefined;
}

/** Converts texts to vectors, in the same order. A `GeminiEmbedder` does it. */
export interface TextEmbedder {
  embed(texts: readonly string[], purpose: EmbeddingPurpose): Promise<readonly (readonly number[])[]>;
}

/** Options of a `FilesRetrieval` over an index that exists. */
export interface FilesRetrievalConstructorParams extends LlamaIndexRetrievalParams {
  readonly inputDir: string;
}

const CREATE: OptionRules<FilesRetrievalParams> = {
  ...NAMES,
  inputDir: { is: 'text', write: "'./documents'" },
  embedder: { is: 'object', has: 'embed', wanted: 'an object with embed', write: 'new GeminiEmbedder()' },
};
const LIMITS = { maxFiles: 5000, maxBytes: 50_000_000 };

/**
 * A tool that searches the text files of a folder by meaning, and gives the model the nearest passage. `create` reads
 * the files once and keeps their vectors in memory: at most 5,000 files and 50 MB. Files that are not UTF-8 text, such
 * as PDF, are left out.
 *
 * @example
 * const files = await FilesRetrieval.create({ name: 'handbook', description: 'Searches the handbook.', inputDir: './handbook' });
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest', tools: [files] });
 */
export class FilesRetrieval extends LlamaIndexRetrieval {
  readonly inputDir: string;

  /** @throws ConfigurationError for a missing name, description or retriever, and an unknown option */
  constructor(given: FilesRetrievalConstructorParams) {
    const { inputDir, ...params } = isRecord(given) ? given : ({} as FilesRetrievalConstructorParams);
    if (!params.retriever)
      throw new ConfigurationError(
        'FilesRetrieval: retriever is missing; write await FilesRetrieval.create({ name, description, inputDir })',
      );
    super(params);
    this.inputDir = inputDir;
  }

  /**
   * Reads the text files of a folder, and indexes them.
   * @throws ConfigurationError for a folder that has no text files or too many, without a key, and outside Node
   * @throws ModelError if the embedding model fails
   */
  static async create(params: FilesRetrievalParams): Promise<FilesRetrieval> {
    checkOptions('FilesRetrieval.create', CREATE, params);
    const { inputDir, embedder: given, ...names } = params;
    const passages = await readPassages(inputDir);
    const embedder = given ?? geminiEmbedder();
    const vectors = await embedder.embed(passages, 'document');
    if (vectors.length !== passages.length)
      throw new ConfigurationError(
        `FilesRetrieval.create: embedder gave ${vectors.length} vectors for ${passages.length} texts; return one for each text`,
      );
    const index = passages.map((text, at) => ({ text, vector: vectors[at] ?? [] }));
    const retrieve = async (query: string): Promise<LlamaIndexNodeWithScore[]> => {
      const [vector = []] = await embedder.embed([query], 'query');
      return index
        .map((passage) => ({ node: { text: passage.text }, score: similarity(vector, passage.vector) }))
        .toSorted((one, other) => other.score - one.score)
        .slice(0, 2);
    };
    return new FilesRetrieval({ ...names, inputDir, retriever: { retrieve } });
  }
}

function geminiEmbedder(): GeminiEmbedder {
  const { vertexai, project, location, apiKey } = geminiInitParams({});
  if (!vertexai && !apiKey)
    throw new ConfigurationError(
      'FilesRetrieval.create: there is no API key; set GEMINI_API_KEY in the environment or in a file .env, or write embedder: new GeminiEmbedder({ apiKey })',
    );
  const baseUrl = unsetBaseUrl(vertexai);
  return new GeminiEmbedder({ vertexai, project, location, apiKey, apiKeyName: 'GEMINI_API_KEY', baseUrl });
}

async function readPassages(inputDir: string): Promise<string[]> {
  const files = await readTextFiles(inputDir, LIMITS).catch((cause: unknown) => {
    if (ConfigurationError.isInstance(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(
      `FilesRetrieval.create: inputDir: cannot be read (${reason}); write the path of a folder`,
      { cause },
    );
  });
  const passages = files.flatMap(({ text }) => passagesOf(text));
  if (passages.length === 0)
    throw new ConfigurationError(
      `FilesRetrieval.create: inputDir: ${inputDir} has no text files; write a folder that has some`,
    );
  return passages;
}

/** Longest passage in UTF-16 units: about 500 words, below the limit of the embedding models. */
const MAX_PASSAGE = 3000;

/** Divides a text into passages of whole paragraphs; a paragraph that is too long is divided at its words. */
function passagesOf(text: string): string[] {
  const passages: string[] = [];
  let passage = '';
  for (const paragraph of text.split(/\n[^\S\n]*\n/).flatMap((each) => pieces(each.trim()))) {
    if (passage && passage.length + paragraph.length > MAX_PASSAGE) {
      passages.push(passage);
      passage = '';
    }
    passage += passage ? `\n\n${paragraph}` : paragraph;
  }
  return passage ? [...passages, passage] : passages;
}

function pieces(paragraph: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < paragraph.length;) {
    const space = paragraph.length - start > MAX_PASSAGE ? paragraph.lastIndexOf(' ', start + MAX_PASSAGE) : -1;
    const end = space > start ? space : start + MAX_PASSAGE;
    found.push(paragraph.slice(start, end).trim());
    start = end;
  }
  return found;
}

/** The cosine of the angle between two vectors; 0 if one has no length. */
function similarity(one: readonly number[], other: readonly number[]): number {
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (const [at, a] of one.entries()) {
    const b = other[at] ?? 0;
    product += a * b;
    ofOne += a * a;
    ofOther += b * b;
  }
  return product === 0 ? 0 : product / Math.sqrt(ofOne * ofOther);
}
