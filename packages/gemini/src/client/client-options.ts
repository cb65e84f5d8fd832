import { ConfigurationError } from '@eventloom/core';
import { type OptionNames } from '@eventloom/core/internal';
import type { HttpOptions } from '@google/genai';
import type { GenAiClient } from './genai-client.ts';

/** Live connections of the Gemini API are documented for this version; the client's own default is `v1`. */
export const LIVE_API_VERSION = 'v1beta';

/** The service to connect to, and its credentials. */
export interface GeminiClientOptions {
  /** Key of the Gemini API, or of Vertex AI in express mode. */
  readonly apiKey?: string | undefined;
  /** Vertex AI instead of the Gemini API. Default false. */
  readonly vertexai?: boolean | undefined;
  /** Google Cloud project, for Vertex AI without a key. Node only: it takes Google's default credentials. */
  readonly project?: string | undefined;
  /** Google Cloud location. Default `global`. */
  readonly location?: string | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Address of the service, if it is not Google's own. */
  readonly baseUrl?: string | undefined;
  /** Default: the client's own, `v1` for the Gemini API and `v1beta1` for Vertex AI. */
  readonly apiVersion?: string | undefined;
  /** More of @google/genai's HTTP options: `timeout`, `extraBody`, `fetch`. `headers`, `baseUrl` and `apiVersion` above win. */
  readonly httpOptions?: Readonly<Omit<HttpOptions, 'retryOptions'>> | undefined;
  /** A client made elsewhere, or how to make it at the first call; the options above are not used then. */
  readonly client?: GenAiClient | (() => Promise<GenAiClient>) | undefined;
}

/** The option names of a client, for the check of options that have more. */
export const CLIENT_OPTIONS: OptionNames<GeminiClientOptions> = {
  apiKey: true,
  vertexai: true,
  project: true,
  location: true,
  headers: true,
  baseUrl: true,
  apiVersion: true,
  httpOptions: true,
  client: true,
};

/** @throws ConfigurationError when no client can be made of the options */
export function checkClientOptions({
  apiKey,
  vertexai,
  project,
  httpOptions,
  baseUrl,
  client,
}: GeminiClientOptions): void {
  if (client || apiKey) return;
  if (!vertexai) {
    throw new ConfigurationError(
      'Gemini: apiKey is missing; write { apiKey: process.env.GEMINI_API_KEY }, because no environment variable is read by itself. ' +
        'For Vertex AI write { vertexai: true, project }',
    );
  }
  if (!project && !baseUrl && !httpOptions?.baseUrl) {
    throw new ConfigurationError(
      'Gemini: vertexai: true needs a project, as in { vertexai: true, project, location }, or an apiKey',
    );
  }
}
