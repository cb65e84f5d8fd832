import * as z from 'zod';
import type { Content, Part } from '../content/content.ts';
import { CONTENT, PART } from '../event/event-shape.ts';
import { documentOf } from '../event/read-json.ts';
import { jsonObjectSchema } from './json-object-schema.ts';
import { readWith } from './read-with.ts';

const text = z.string().exactOptional();
const flag = z.boolean().exactOptional();
const object = jsonObjectSchema.exactOptional();
const base64 = z.string().describe('Base64, standard or URL alphabet.').exactOptional();

const partialArgShape = z.looseObject({
  jsonPath: text,
  stringValue: text,
  numberValue: z.number().exactOptional(),
  boolValue: flag,
  nullValue: z.literal('NULL_VALUE').exactOptional(),
  willContinue: flag,
});

/** One piece of a content, after reading. */
export const partShape = z.looseObject({
  text,
  thought: z.boolean().describe('The text is reasoning, not the answer.').exactOptional(),
  thoughtSignature: text,
  functionCall: z
    .looseObject({
      id: text,
      name: text,
      args: object,
      partialArgs: z.array(partialArgShape).exactOptional(),
      willContinue: flag,
    })
    .exactOptional(),
  functionResponse: z
    .looseObject({
      id: text,
      name: text,
      response: object,
      parts: z.array(jsonObjectSchema).exactOptional(),
      scheduling: text,
      willContinue: flag,
    })
    .exactOptional(),
  inlineData: z.looseObject({ data: base64, mimeType: text, displayName: text }).exactOptional(),
  fileData: z.looseObject({ fileUri: text, mimeType: text, displayName: text }).exactOptional(),
  executableCode: z.looseObject({ code: text, language: text, id: text }).exactOptional(),
  codeExecutionResult: z.looseObject({ outcome: text, output: text, id: text }).exactOptional(),
  videoMetadata: z.looseObject({ startOffset: text, endOffset: text, fps: z.number().exactOptional() }).exactOptional(),
  partMetadata: object,
  toolCall: z.looseObject({ id: text, toolType: text, args: object }).exactOptional(),
  toolResponse: z.looseObject({ id: text, toolType: text, response: object }).exactOptional(),
  audioTranscription: object,
  mediaResolution: z.union([z.string(), jsonObjectSchema]).exactOptional(),
  mediaProcessing: z.union([z.string(), jsonObjectSchema]).exactOptional(),
  speechMetadata: object,
});

/** Who says it, and what, after reading. */
export const contentShape = z.looseObject({
  role: z.string().describe('`user` or `model`.').exactOptional(),
  parts: z.array(partShape).exactOptional(),
});

/** One piece of a content. */
export const partSchema: z.ZodType<Part> = readWith(documentOf(PART), partShape);
/** Who says it, and what. */
export const contentSchema: z.ZodType<Content> = readWith(documentOf(CONTENT), contentShape);

export type PartJson = z.infer<typeof partSchema>;
export type ContentJson = z.infer<typeof contentSchema>;
