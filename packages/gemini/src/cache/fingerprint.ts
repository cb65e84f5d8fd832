import type { GenerateContentParameters } from '@google/genai';

/** Of all that a cache of the request would hold: model, instruction, tools and the first contents. 16 hexadecimal digits. */
export async function fingerprintOf(
  { model, contents, config }: GenerateContentParameters,
  contentsCount: number,
): Promise<string> {
  const { systemInstruction, tools, toolConfig } = config ?? {};
  const first = Array.isArray(contents) ? contents.slice(0, contentsCount) : [];
  const text = JSON.stringify([model, systemInstruction, tools, toolConfig, first]);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
