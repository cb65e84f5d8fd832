import { parseSync, rawTransferSupported, Visitor, type EcmaScriptModule, type ParseResult } from 'oxc-parser';
import type { SourceFile } from './repository.ts';

/** A name that a module exports; a star export has no name. */
export interface ExportedName {
  readonly kind: 'type' | 'value';
  readonly name: string | undefined;
  /** The module whose name it is; undefined for a name of this module. */
  readonly from: string | undefined;
}

/** Reads the tree from the parser's memory and not from JSON, which takes three times as long. */
const options = { range: true, experimentalRawTransfer: rawTransferSupported() };

export function parseModule(file: SourceFile): ParseResult {
  return parseSync(file.path, file.text, options);
}

const modules = new WeakMap<SourceFile, EcmaScriptModule>();

/** Returns the imports and exports of a module. Each file is parsed once. */
export function readModule(file: SourceFile): EcmaScriptModule {
  const known = modules.get(file) ?? parseModule(file).module;
  modules.set(file, known);
  return known;
}

const specifiersOf = new WeakMap<SourceFile, string[]>();

/** Returns the specifiers that a module imports or re-exports from, including those of `import()` and of `import('x')` types. */
export function importedSpecifiers(file: SourceFile): string[] {
  const known = specifiersOf.get(file);
  if (known) return known;
  const specifiers = readSpecifiers(file);
  specifiersOf.set(file, specifiers);
  return specifiers;
}

function readSpecifiers(file: SourceFile): string[] {
  const module = readModule(file);
  const specifiers = module.staticImports.map((statement) => statement.moduleRequest.value);
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest } of entries) if (moduleRequest) specifiers.push(moduleRequest.value);
  }
  // Few files need a walk through the tree.
  if (!/\bimport\s*(?:\(|\/|\.(?!meta\b))/.test(file.text)) return [...new Set(specifiers)];
  new Visitor({
    ImportExpression({ source }) {
      if (source.type === 'Literal' && typeof source.value === 'string') specifiers.push(source.value);
    },
    TSImportType({ source }) {
      specifiers.push(source.value);
    },
  }).visit(parseModule(file).program);
  return [...new Set(specifiers)];
}

export function exportedNames(file: SourceFile): ExportedName[] {
  return readModule(file).staticExports.flatMap(({ entries }) =>
    entries.map(({ exportName, isType, moduleRequest }) => ({
      kind: isType ? ('type' as const) : ('value' as const),
      name: exportName.kind === 'Default' ? 'default' : (exportName.name ?? undefined),
      from: moduleRequest?.value,
    })),
  );
}
