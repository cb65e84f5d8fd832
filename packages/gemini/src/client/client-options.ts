import { ConfigurationError } from '@eventloom/core';
import { type OptionRules } from '@eventloom/core/internal';
import type { HttpOptions } from '@google/genai';
import type { GenAiClient } from './genai-client.ts';

/** The service to connect to, and its credentials. */
export interface GeminiClientOptions {
  /** Key of the Gemini API, or of Vertex AI in express mode. Required unless `vertexai` with a `project`, or a `client`, is given. */
  readonly apiKey?: string | undefined;
  /**
   * Name of the environment variable or secret that the key comes from. It is named in the error if the service refuses
   * the key. Default: none.
   */
  readonly apiKeyName?: string | undefined;
  /** True to use Vertex AI instead of the Gemini API. Default false. */
  readonly vertexai?: boolean | undefined;
  /** Google Cloud project, for Vertex AI without a key. Works on Node only, because it uses Google's default credentials. */
  readonly project?: string | undefined;
  /** Google Cloud location, for Vertex AI. Default `global`. */
  readonly location?: string | undefined;
  /** Headers that are sent with every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** URL of the service. Default: Google's service. */
  readonly baseUrl?: string | undefined;
  /** Version of the API. Default: `v1` for the Gemini API and `v1beta1` for Vertex AI. */
  readonly apiVersion?: string | undefined;
  /**
   * Version of the API for live connections. Default: `apiVersion`; without one, `v1beta` for the Gemini API and
   * `v1beta1` for Vertex AI.
   */
  readonly liveApiVersion?: string | undefined;
  /**
   * More HTTP options of `@google/genai`: `timeout`, `extraBody`, `fetch`. The options `headers`, `baseUrl` and
   * `apiVersion` take precedence.
   */
  readonly httpOptions?: Readonly<Omit<HttpOptions, 'retryOptions'>> | undefined;
  /** A client of `@google/genai`, or a function that creates it at the first call. If given, the options above are not used. */
  readonly client?: GenAiClient | (() => Promise<GenAiClient>) | undefined;
}

/** The option names of a client, for checks of options that include these. */
export const CLIENT_OPTIONS: OptionRules<GeminiClientOptions> = {
  apiKey: 'text',
  apiKeyName: 'text',
  vertexai: 'flag',
  project: 'text',
  location: 'text',
  headers: 'object',
  baseUrl: 'text',
  apiVersion: 'text',
  liveApiVersion: 'text',
  httpOptions: 'object',
  client: 'object or function',
};

/**
 * Checks that there is a key, a project or a client.
 * @param model the name of the model that the client is for
 * @throws ConfigurationError if the options are not sufficient to create a client
 */
export function checkClientOptions(
  { apiKey, vertexai, project, httpOptions, baseUrl, client }: GeminiClientOptions,
  model: string,
): void {
  if (client || apiKey) return;
  if (!vertexai) {
    if (apiKey === '')
      throw new ConfigurationError(
        `model "${model}": apiKey is an empty string; set GEMINI_API_KEY before you start the program`,
      );
    throw new ConfigurationError(
      'Gemini: apiKey is missing; write { apiKey: process.env.GEMINI_API_KEY }, or { gemini: { apiKey } } of InMemoryRunner: no environment variable is read by itself. ' +
        'For Vertex AI write { vertexai: true, project }',
    );
  }
  if (!project && !baseUrl && !httpOptions?.baseUrl) {
    throw new ConfigurationError(
      'Gemini: vertexai: true needs a project, as in { vertexai: true, project, location }, or an apiKey',
    );
  }
}

/** Returns the API version of live connections; undefined if it is the one of the other requests. */
export function liveApiVersionOf({
  vertexai,
  apiVersion,
  httpOptions,
  liveApiVersion,
}: GeminiClientOptions): string | undefined {
  if (liveApiVersion) return liveApiVersion;
  // Google documents live connections of the Gemini API for `v1beta`; the version of its other requests is `v1`.
  return vertexai || apiVersion || httpOptions?.apiVersion ? undefined : 'v1beta';
}
