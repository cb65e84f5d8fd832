import * as z from 'zod';
import type { ArtifactVersion } from '../artifact/artifact-service.ts';
import { jsonObjectSchema } from './json-object-schema.ts';
import { bodySchema } from './read-with.ts';

/** The body of every answer that is an error. */
export const errorBodySchema = bodySchema({
  error: z.string().describe('What is wrong, and where.'),
  code: z.string().describe('Stable, upper snake case.'),
});

/** What is known of one version of an artifact without its bytes. */
export const artifactVersionSchema: z.ZodType<ArtifactVersion> = bodySchema({
  version: z.int().min(0),
  canonicalUri: z.string(),
  mimeType: z.string(),
  createTime: z.number().describe('Seconds since the epoch.'),
  customMetadata: jsonObjectSchema.exactOptional(),
});

export type ErrorBody = z.infer<typeof errorBodySchema>;
export type ArtifactVersionBody = z.infer<typeof artifactVersionSchema>;
