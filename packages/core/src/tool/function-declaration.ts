import type { VendorValue } from '../content/content.ts';

/** What a model is told of a tool: a twin of @google/genai's type of the same name. */
export interface FunctionDeclaration {
  name?: string;
  description?: string;
  /** The arguments as JSON Schema. */
  parametersJsonSchema?: unknown;
  /** The arguments in the vendor's own schema dialect, instead. */
  parameters?: object;
  responseJsonSchema?: unknown;
  response?: object;
  behavior?: VendorValue;
}
