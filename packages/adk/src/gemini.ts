import { type BaseLlmConnection, ConfigurationError, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { Gemini, type GeminiOptions } from '@eventloom/gemini';
import { describeDotEnv, readUnsetVariable, readVariable } from '#runtime';
import type { Assignable } from './adk-types.ts';
import { requireOptions } from './check-arguments.ts';
import { refuseUncalled } from './class-checks.ts';
import { GoogleLLMVariant } from './model-names.ts';

/**
 * The parameters of the `Gemini` for programs that were written for `@google/adk`: those of `@eventloom/gemini`; missing ones are read from
 * the environment.
 */
export interface GeminiParams extends Assignable<Omit<GeminiOptions, 'model' | 'retry'>> {
  /** The model's name. Default `gemini-2.5-flash`, as in the ADK. */
  model?: string | undefined;
  /** Retries of a call that failed. Default: none, as in the ADK; `{}` retries with the defaults of `RetryOptions`. */
  retry?: GeminiOptions['retry'];
  /** Only `false`: requests go to `generateContent`, with the whole conversation. */
  useInteractionsApi?: boolean | undefined;
}

/** The parameters of a Gemini model after the environment was read. */
interface GeminiSettings {
  readonly model: string | undefined;
  readonly vertexai: boolean;
  readonly project: string | undefined;
  readonly location: string | undefined;
  readonly apiKey: string | undefined;
}

/** Members that the ADK calls, and what a class of the program writes in place of each. */
const UNCALLED = {
  getHttpOptions: 'super({ …options, headers }) in its constructor',
  getLiveHttpOptions: 'super({ …options, headers }) in its constructor',
  trackingHeaders: 'super({ …options, headers }) in its constructor',
  liveApiVersion: 'super({ …options, liveApiVersion }) in its constructor',
  maybeAppendUserContent: 'generateContentAsync, which changes the request and calls super.generateContentAsync',
};

const KEYS = ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY'];

/**
 * Completes the parameters of a Gemini model from the environment, on Node. `GOOGLE_GENAI_USE_ENTERPRISE` or `GOOGLE_GENAI_USE_VERTEXAI`
 * selects Vertex AI with `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`; otherwise the key is the first of `GOOGLE_GENAI_API_KEY`,
 * `GOOGLE_API_KEY` and `GEMINI_API_KEY`. Parameters that are given take precedence.
 * @throws ConfigurationError for Vertex AI without a project or a location
 */
export function geminiInitParams(
  given: Pick<GeminiParams, 'model' | 'vertexai' | 'project' | 'location' | 'apiKey'>,
): GeminiSettings {
  requireOptions('geminiInitParams', given, "geminiInitParams({ model: 'gemini-flash-latest' })");
  const vertexai = given.vertexai === true || usesVertexAi();
  if (!vertexai) {
    const apiKey = given.apiKey || KEYS.map(readVariable).find((key) => key !== undefined);
    return { model: given.model, vertexai, project: given.project, location: given.location, apiKey };
  }
  const project = given.project || readVariable('GOOGLE_CLOUD_PROJECT');
  const location = given.location || readVariable('GOOGLE_CLOUD_LOCATION');
  if (!project) throw new ConfigurationError(missingOfVertexAi('project', 'GOOGLE_CLOUD_PROJECT'));
  if (!location) throw new ConfigurationError(missingOfVertexAi('location', 'GOOGLE_CLOUD_LOCATION'));
  return { model: given.model, vertexai, project, location, apiKey: given.apiKey };
}

function missingOfVertexAi(option: string, variable: string): string {
  return `Gemini: Vertex AI needs a ${option}; write new Gemini({ model, vertexai: true, project, location }), or set ${variable}.${describeDotEnv()}`;
}

/** Returns the address of the service in the file `.env`. `@google/genai` reads that of the process itself, at the first call. */
export function unsetBaseUrl(vertexai: boolean): string | undefined {
  return readUnsetVariable(vertexai ? 'GOOGLE_VERTEX_BASE_URL' : 'GOOGLE_GEMINI_BASE_URL');
}

function usesVertexAi(): boolean {
  const value = readVariable('GOOGLE_GENAI_USE_ENTERPRISE') ?? readVariable('GOOGLE_GENAI_USE_VERTEXAI') ?? '';
  return ['true', '1'].includes(value.toLowerCase());
}

/** A request that a program writes for a model itself. */
export interface AdkLlmRequest extends Omit<LlmRequest, 'config' | 'toolsDict'> {
  readonly config?: LlmRequest['config'] | undefined;
  readonly toolsDict?: LlmRequest['toolsDict'] | undefined;
  /** Options of a live connection, which take precedence over those of `config`. */
  readonly liveConnectConfig?: object | undefined;
}

/**
 * The `Gemini` for programs that were written for `@google/adk`: its key, or its project and location of Vertex AI,
 * come from the environment on Node unless they are given, and so does another address of the service
 * (`GOOGLE_GEMINI_BASE_URL` or `GOOGLE_VERTEX_BASE_URL`). It extends the `Gemini` of `eventloom`, which reads nothing
 * from the environment. A missing key fails here at once, and there at the first call. A call that fails is not sent
 * again, unless `retry` is given. Live connections use `v1alpha` of the Gemini API, unless `liveApiVersion` or
 * `apiVersion` is given.
 *
 * @example
 * const model = new Gemini({ model: 'gemini-flash-latest' });
 */
export class AdkGemini extends Gemini {
  /** The name of the class in error messages. */
  static override readonly name: string = 'Gemini';
  static override readonly supportedModels: readonly (string | RegExp)[] = [
    /gemini-.*/,
    /projects\/[^/]+\/locations\/[^/]+\/endpoints\/.+/,
    /projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/gemini.+/,
  ];
  readonly vertexai: boolean;
  readonly project: string | undefined;
  readonly location: string | undefined;
  /** False: the Interactions API is not offered. */
  readonly useInteractionsApi = false;

  /** @throws ConfigurationError without a key or a project, and for an option name that this version does not know */
  constructor(given: GeminiParams = {}) {
    requireOptions('Gemini', given, "new Gemini({ model: 'gemini-flash-latest' })");
    const { useInteractionsApi = false, ...params } = given;
    if (useInteractionsApi)
      throw new ConfigurationError(
        'Gemini: useInteractionsApi: true is not offered; remove it: each request has the whole conversation, so nothing has to be kept at the service',
      );
    const { model = 'gemini-2.5-flash', client } = params;
    const { vertexai, project, location, apiKey } = client
      ? { ...params, vertexai: params.vertexai ?? false }
      : geminiInitParams(params);
    if (!client && !vertexai && !apiKey)
      throw new ConfigurationError(
        `Gemini: there is no API key; set GEMINI_API_KEY in the environment or in a file .env, or write new Gemini({ model, apiKey }).${describeDotEnv()}`,
      );
    const baseUrl = params.baseUrl ?? (params.httpOptions?.baseUrl ? undefined : unsetBaseUrl(vertexai));
    const isVersionOpen = !vertexai && !params.apiVersion && !params.httpOptions?.apiVersion;
    const liveApiVersion = params.liveApiVersion || (isVersionOpen ? 'v1alpha' : undefined);
    const retry = params.retry ?? { attempts: 1 };
    super({ ...params, model, vertexai, project, location, apiKey, baseUrl, liveApiVersion, retry });
    refuseUncalled('Gemini', this, UNCALLED);
    this.vertexai = vertexai;
    this.project = project;
    this.location = location;
  }

  /** The service that the model is called at. */
  get apiBackend(): GoogleLLMVariant {
    return this.vertexai ? GoogleLLMVariant.VERTEX_AI : GoogleLLMVariant.GEMINI_API;
  }

  /** Calls the model as `Gemini` of `@eventloom/gemini` does; `config` and `toolsDict` of the request may be absent. */
  override generateContentAsync(
    { liveConnectConfig: _, config = {}, toolsDict = {}, ...request }: AdkLlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    return super.generateContentAsync({ ...request, config, toolsDict }, stream, abortSignal);
  }

  /**
   * Opens a live connection as `Gemini` of `@eventloom/gemini` does, also with the options that the program wrote to
   * `liveConnectConfig`.
   */
  override connect(
    { liveConnectConfig, config = {}, toolsDict = {}, ...request }: AdkLlmRequest,
    abortSignal?: AbortSignal,
  ): Promise<BaseLlmConnection> {
    // The fields of `config` may be views, which a copy would not have.
    Object.assign(config, liveConnectConfig);
    return super.connect({ ...request, config, toolsDict }, abortSignal);
  }
}
