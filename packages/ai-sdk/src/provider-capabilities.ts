import type { ModelCapabilities } from '@eventloom/core';

const NO_MEDIA: readonly string[] = [];
const DOCUMENTS: readonly string[] = ['image/*', 'application/pdf'];

/** The features assumed of a provider's models: everything that fails with a clear message if a model lacks it. */
const ASSUMED: ModelCapabilities = {
  tools: true,
  outputSchemaWithTools: false,
  media: ['image/*', 'audio/wav', 'audio/mp3', 'audio/mpeg', 'application/pdf'],
  responseMedia: { inlineData: NO_MEDIA, fileData: NO_MEDIA },
  thinking: true,
  builtInTools: false,
  live: false,
};

/** Providers that differ, by a part of their name. */
const BY_PROVIDER: readonly (readonly [string, Partial<ModelCapabilities>])[] = [
  ['anthropic', { media: [...DOCUMENTS, 'text/plain'], responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } }],
  [
    'openai.responses',
    { outputSchemaWithTools: true, media: DOCUMENTS, responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } },
  ],
  [
    'azure.responses',
    { outputSchemaWithTools: true, media: DOCUMENTS, responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } },
  ],
  ['openai.chat', { outputSchemaWithTools: true }],
  ['azure.chat', { outputSchemaWithTools: true }],
  ['google', { media: ['*'] }],
];

/** Returns the features of the models of a provider. */
export function capabilitiesOf(provider: string): ModelCapabilities {
  const found = BY_PROVIDER.find(([name]) => provider.includes(name));
  return found ? { ...ASSUMED, ...found[1] } : ASSUMED;
}
