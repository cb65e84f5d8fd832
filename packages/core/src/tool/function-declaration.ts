/** What a model is told of a tool. */
export interface FunctionDeclaration {
  name?: string;
  description?: string;
  /** The arguments as JSON Schema. */
  parametersJsonSchema?: unknown;
  /** The arguments in the vendor's own schema dialect, instead. */
  parameters?: unknown;
  responseJsonSchema?: unknown;
  response?: unknown;
  behavior?: unknown;
}
