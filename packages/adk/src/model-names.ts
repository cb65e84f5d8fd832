/** The service that a model is called at. */
export const GoogleLLMVariant = { VERTEX_AI: 'VERTEX_AI', GEMINI_API: 'GEMINI_API' } as const;
export type GoogleLLMVariant = (typeof GoogleLLMVariant)[keyof typeof GoogleLLMVariant];

/** Returns true for Gemini 2 and later: `gemini-2.5-flash`, also as a resource name of Vertex AI. False for names without a version. */
export function isGemini2OrAbove(model: string): boolean {
  return Number(/^(?:projects\/.+\/models\/)?gemini-(\d+)(?:\.\d+)*(?:-|$)/.exec(model)?.[1] ?? 0) >= 2;
}

/** Returns true for the Flash Live models of Gemini 3: `gemini-3.…-flash-live…`. */
export function isGemini3xFlashLive(model: string): boolean {
  return /^(?:projects\/.+\/models\/)?gemini-3\..*-flash-live/.test(model);
}
