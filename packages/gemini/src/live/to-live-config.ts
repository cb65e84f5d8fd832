import type { LlmRequest } from '@eventloom/core';
import type { LiveConnectConfig } from '@google/genai';
import { toWireTools } from '../request/to-wire-tools.ts';

/**
 * Converts a request's configuration to the client's for a live connection. The client leaves out options that live connections do not have
 * (structured output, stop sequences, penalties, candidates, caches). Options that only the other service has are left out here.
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
    // A copy, because the client modifies the object.
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

/** Returns the handle of the session that a request resumes; undefined for a new session. */
export function resumptionHandle({ config }: LlmRequest): string | undefined {
  const { sessionResumption } = config;
  if (!isObject(sessionResumption) || !('handle' in sessionResumption)) return undefined;
  return typeof sessionResumption.handle === 'string' ? sessionResumption.handle : undefined;
}

/**
 * Returns the option with `transparent`, by default true, for Vertex AI, which then reports the consumed sends; without
 * it for the Gemini API, which lacks it.
 */
function toResumption(resumption: object, vertexai: boolean): object {
  if (vertexai) return { transparent: true, ...resumption };
  if (!('transparent' in resumption)) return resumption;
  const { transparent: _, ...rest } = resumption;
  return rest;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
