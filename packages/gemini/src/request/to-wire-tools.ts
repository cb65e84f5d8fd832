import { toWireSchema } from './to-wire-schema.ts';

/** Function declarations as they are on the wire. */
type Declaration = Readonly<Record<string, unknown>>;

/**
 * Converts tools to the form that the service accepts. All function declarations are in one entry, at the position of
 * the first one, because the service refuses several. The declarations are copies, because the client rewrites
 * `parameters` in place.
 */
export function toWireTools(tools: readonly unknown[]): object[] {
  const wire: object[] = [];
  const declarations: Declaration[] = [];
  for (const tool of tools) {
    if (typeof tool !== 'object' || tool === null) continue;
    if (!hasDeclarations(tool)) {
      wire.push(tool);
      continue;
    }
    const { functionDeclarations, ...others } = tool;
    if (declarations.length === 0) wire.push({ functionDeclarations: declarations });
    for (const declaration of functionDeclarations) declarations.push(toWireDeclaration(declaration));
    if (Object.keys(others).length > 0) wire.push(others);
  }
  return wire;
}

function toWireDeclaration(declaration: Declaration): Declaration {
  const { parametersJsonSchema } = declaration;
  if (parametersJsonSchema === undefined) return { ...declaration };
  return { ...declaration, parametersJsonSchema: toWireSchema(parametersJsonSchema) };
}

function hasDeclarations(tool: object): tool is { readonly functionDeclarations: readonly Declaration[] } {
  return (
    'functionDeclarations' in tool && Array.isArray(tool.functionDeclarations) && tool.functionDeclarations.length > 0
  );
}
