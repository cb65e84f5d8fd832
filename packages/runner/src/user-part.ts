import { isBase64, type Part } from '@eventloom/core';

/** What a user can say, and how each must be. */
const PAYLOADS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  text: ({ text }) => (typeof text === 'string' ? undefined : 'has a text that is no string'),
  inlineData: ({ inlineData }) => {
    if (!isText(inlineData?.mimeType)) return 'has inlineData without a mimeType';
    return isBytes(inlineData?.data) ? undefined : 'has inlineData whose data is empty or not base64';
  },
  fileData: ({ fileData }) => (isText(fileData?.fileUri) ? undefined : 'has fileData without a fileUri'),
  functionResponse: ({ functionResponse }) => {
    if (!isText(functionResponse?.id)) return 'is a function response without the id of its call';
    const response: unknown = functionResponse?.response ?? {};
    const isObject = typeof response === 'object' && !Array.isArray(response);
    return isObject ? undefined : 'is a function response whose response is not an object';
  },
};

/** Payloads that only a model makes. */
const MODEL_PAYLOADS = ['functionCall', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

/** What is wrong with a part of a user's message, after "parts[n] "; undefined when nothing is. */
export function faultOfUserPart(part: Part): string | undefined {
  if (typeof part !== 'object' || part === null) return 'is not an object';
  if (typeof part.text === 'string' && Object.keys(part).length === 1) return undefined;
  for (const payload of MODEL_PAYLOADS) if (part[payload]) return `is a ${payload}; only models make those`;
  if (part.thought === true) return 'is a thought; only models have those';
  const given = Object.keys(PAYLOADS).filter((key) => (part[key as keyof Part] ?? undefined) !== undefined);
  const [payload] = given;
  if (payload === undefined) return `is empty; it must have one of ${Object.keys(PAYLOADS).join(', ')}`;
  if (given.length > 1) return `has ${given.join(' and ')}; a part holds one thing`;
  return PAYLOADS[payload]?.(part);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isBytes(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && isBase64(data);
}
