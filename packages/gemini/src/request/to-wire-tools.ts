import { toWireSchema } from './to-wire-schema.ts';

/** Function declarations as they are on the wire. */
type Declaration = Readonly<Record<string, unknown>>;

/**
 * Tools as the service takes them: all function declarations in one entry, because it refuses several, in the place of the
 * first. The declarations are copied: the client rewrites `parameters` where they are.
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
