import type { LlmRequest } from '@eventloom/core';
import type { LiveConnectConfig } from '@google/genai';
import { toWireTools } from '../request/to-wire-tools.ts';

/**
 * A request's configuration in the client's terms for a live connection. What live connections do not have (structured output,
 * stop sequences, penalties, candidates, caches) is left out by the client; what only one of the two services has is left out here.
 */
export function toLiveConfig(request: LlmRequest, vertexai: boolean): LiveConnectConfig {
  const {
    tools,
    labels,
    generationConfig,
    sessionResumption,
    httpOptions: _http,
    abortSignal: _signal,
    ...config
  } = request.config;
  // Core has loose types for fields that it does not read; the service checks them.
  return {
    ...config,
    ...(tools?.length && { tools: toWireTools(tools) }),
    ...(vertexai && labels && { labels }),
    // The client writes into it.
    ...(isObject(generationConfig) && { generationConfig: { ...generationConfig } }),
    ...(isObject(sessionResumption) && { sessionResumption: toResumption(sessionResumption, vertexai) }),
  } as LiveConnectConfig;
}

/** True if the service reports with its handles how many sends it consumed. */
export function isTransparent({ config }: LlmRequest, vertexai: boolean): boolean {
  const { sessionResumption } = config;
  if (!vertexai || !isObject(sessionResumption)) return false;
  return !('transparent' in sessionResumption) || sessionResumption.transparent === true;
}

/** The handle that a request resumes a session with, undefined when it begins one. */
export function resumptionHandle({ config }: LlmRequest): string | undefined {
  const { sessionResumption } = config;
  if (!isObject(sessionResumption) || !('handle' in sessionResumption)) return undefined;
  return typeof sessionResumption.handle === 'string' ? sessionResumption.handle : undefined;
}

/** Only Vertex AI resumes transparently: it then reports the consumed sends. Requested unless the request turns it off. */
function toResumption(resumption: object, vertexai: boolean): object {
  if (vertexai) return { transparent: true, ...resumption };
  if (!('transparent' in resumption)) return resumption;
  const { transparent: _, ...rest } = resumption;
  return rest;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
