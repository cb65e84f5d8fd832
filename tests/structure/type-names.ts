import { parseModule } from './module-syntax.ts';
import { isTestFile, type Workspace } from './repository.ts';

/** Types that two workspaces may declare under one name, because both mean the same. */
const SAME_MEANING = new Set([
  // The runner of eventloom extends that of the runner package.
  'Runner',
  // The names of the ADK, in its shape and in that of Eventloom, or with the reason why they are not offered.
  'ApiParameter',
  'ListSkillsTool',
  'LoadSkillResourceTool',
  'LoadSkillTool',
  'MCPConnectionParams',
  'MCPSession',
  'RemoteA2AAgent',
  'RunSkillInlineScriptTool',
  'RunSkillScriptTool',
  'SearchSkillsTool',
  'StdioConnectionParams',
  'StreamableHTTPConnectionParams',
  // Sessions and server cannot import each other, and describe the same parts of a PostgreSQL client.
  'PostgresClient',
  'PostgresPool',
  'PostgresQuery',
  'PostgresResult',
  // The page of Studio describes JSON that the server sends, and installs no package of the server.
  'KeptSpan',
  'ModelPrice',
]);

/** Returns classes, interfaces and types that are declared in more than one file, with these files: `name: file, file`. */
export function ambiguousTypes(workspaces: readonly Workspace[]): string[] {
  const declared = new Map<string, string[]>();
  for (const { files } of workspaces) {
    for (const file of files) {
      if (isTestFile(file.path) || /\/conformance\//.test(file.path)) continue;
      for (const name of typesOf(file)) declared.set(name, [...(declared.get(name) ?? []), file.path]);
    }
  }
  return Array.from(declared).flatMap(([name, paths]) =>
    paths.length > 1 && !SAME_MEANING.has(name) ? [`${name}: ${paths.join(', ')}`] : [],
  );
}

/** Returns the types that a file declares at its top level, exported or not. */
function typesOf(file: Workspace['files'][number]): string[] {
  return parseModule(file).program.body.flatMap((statement) => {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    switch (node?.type) {
      case 'ClassDeclaration':
      case 'TSInterfaceDeclaration':
      case 'TSTypeAliasDeclaration':
        return node.id ? [node.id.name] : [];
      default:
        return [];
    }
  });
}
