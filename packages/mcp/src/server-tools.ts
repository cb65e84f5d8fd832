import { specTypeSchemas, type Tool } from '@modelcontextprotocol/client';
import { isDeeperThan } from '@eventloom/core/wire';
import { isPersonRequest, isRecord, isReservedToolName, isToolName } from '@eventloom/core/internal';
import { MCPToolRefusedError } from './errors.ts';

/** Maximum length of a tool's name, in characters: all vendors of models accept it. */
const MAX_NAME = 64;
/** Maximum length of a description, in characters. */
const MAX_DESCRIPTION = 4096;
/** Maximum size of an input schema, in characters of JSON. */
const MAX_SCHEMA = 65_536;
/** Maximum number of levels of an input schema. */
const MAX_SCHEMA_DEPTH = 32;

/** A server's tool that passed the checks. */
export interface ServerTool {
  /** The tool's name at the server. */
  readonly serverToolName: string;
  /** The name for models: the prefix, and the server's name with `_` for characters that models do not accept. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly idempotent: boolean;
  /** The hints of the server, which may be wrong. */
  readonly annotations: MCPToolAnnotations;
  /** The definition as the server sent it, without the schema of its results. */
  readonly definition: Tool;
}

/** A server's hints about one of its tools. They may be wrong. */
export interface MCPToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** The tools of a server that can be offered, and the reasons for which others are not. */
interface AcceptedTools {
  readonly tools: readonly ServerTool[];
  readonly refused: readonly MCPToolRefusedError[];
}

/** The side of a connection that the check of tools needs. */
interface ToolsOwner {
  readonly name: string;
  readonly prefix: string | undefined;
  /** True if arguments that the server marks with `x-mcp-header` are sent as headers too. */
  readonly sendsHeaders: boolean;
}

/** Checks the tools of a server, and gives each a unique name that models accept. */
export function acceptTools(
  { name: owner, prefix, sendsHeaders }: ToolsOwner,
  listed: readonly unknown[],
): AcceptedTools {
  const refused: MCPToolRefusedError[] = [];
  const refuse = (name: string, reason: string): void => {
    refused.push(
      new MCPToolRefusedError(
        `MCP server "${owner}": tool ${JSON.stringify(name.slice(0, MAX_NAME))} is not offered: ${reason}`,
      ),
    );
  };
  const seen = new Set<string>();
  const named: { readonly tool: Tool; readonly name: string }[] = [];
  const changed: Tool[] = [];
  const names = new Set<string>();
  for (const each of listed) {
    const { tool, wrong } = toTool(each);
    if (!tool) {
      refuse(wrong.name, wrong.fault);
      continue;
    }
    const fault = seen.has(tool.name)
      ? 'another tool has the same name'
      : (faultOf(tool, prefixed(prefix, tool.name)) ?? (sendsHeaders ? headerFault(tool.inputSchema) : undefined));
    seen.add(tool.name);
    if (fault !== undefined) refuse(tool.name, fault);
    else {
      const name = prefixed(prefix, tool.name);
      if (!isOfferable(name)) changed.push(tool);
      else {
        names.add(name);
        named.push({ tool, name });
      }
    }
  }
  // Tools with a valid name keep it, even if the names of others become the same when they are repaired.
  for (const tool of changed) {
    const plain = toToolName(prefixed(prefix, tool.name));
    const name =
      isOfferable(plain) && !names.has(plain)
        ? plain
        : toToolName(`${plain.slice(0, MAX_NAME - 9)}_${hashOf(tool.name)}`);
    if (!isOfferable(name) || names.has(name)) refuse(tool.name, 'its name is the same as that of another tool');
    else {
      names.add(name);
      named.push({ tool, name });
    }
  }
  return { tools: named.map(({ tool, name }) => toServerTool(tool, name)), refused };
}

function toServerTool(definition: Tool, name: string): ServerTool {
  const { inputSchema, annotations = {}, title, description } = definition;
  // Results are not checked against the server's schema.
  const { outputSchema: _, ...unchecked } = definition;
  return {
    name,
    serverToolName: definition.name,
    description: plainText(description ?? title ?? annotations.title ?? '', MAX_DESCRIPTION),
    inputSchema,
    idempotent: annotations.readOnlyHint === true || annotations.idempotentHint === true,
    annotations,
    definition: unchecked,
  };
}

/** Returns a text without control characters, truncated to a length. */
export function plainText(text: string, maxLength: number): string {
  const plain = text.slice(0, maxLength).replaceAll(/[^\P{C}\n\t]/gu, '');
  return text.length > maxLength ? `${plain}…` : plain;
}

function prefixed(prefix: string | undefined, name: string): string {
  return prefix ? `${prefix}_${name}` : name;
}

function isOfferable(name: string): boolean {
  return isToolName(name) && name.length <= MAX_NAME && !isRuntimeName(name);
}

/** True for the name of a function of the runtime: calls of such a tool could not be distinguished from calls of that function. */
function isRuntimeName(name: string): boolean {
  return isReservedToolName(name) || isPersonRequest({ name });
}

/** Replaces the characters that models do not accept in names. */
function toToolName(name: string): string {
  const plain = name
    .slice(0, MAX_NAME * 2)
    .replaceAll(/[^\w.:-]/g, '_')
    .slice(0, MAX_NAME);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain.slice(0, MAX_NAME - 1)}`;
}

/** Returns a short hash (FNV-1a, 32 bit), which gives a changed name the same suffix in every process. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** A tool as the protocol defines it, or the reason why it cannot be offered. */
type CheckedTool =
  | { readonly tool: Tool; readonly wrong?: undefined }
  | { readonly tool?: undefined; readonly wrong: { readonly name: string; readonly fault: string } };

function toTool(listed: unknown): CheckedTool {
  const { name, inputSchema } = isRecord(listed) ? listed : {};
  const refused = (fault: string): CheckedTool => ({ wrong: { name: typeof name === 'string' ? name : '', fault } });
  if (!isRecord(inputSchema)) return refused('its input schema is not an object');
  // Some servers leave the type out, which must be `object`.
  const checked = specTypeSchemas.Tool['~standard'].validate({
    ...(listed as object),
    inputSchema: inputSchema['type'] === undefined ? { type: 'object', ...inputSchema } : inputSchema,
  });
  if (!checked.issues) return { tool: checked.value };
  const [{ path = [], message } = { message: 'it is not a tool' }] = checked.issues;
  const where = path.map((key) => String(typeof key === 'object' ? key.key : key)).join('.');
  return refused(plainText(where === '' ? message : `${where}: ${message}`, 200));
}

function faultOf({ inputSchema: schema }: Tool, name: string): string | undefined {
  if (isRuntimeName(name)) return 'the runtime has a function of this name; write a toolNamePrefix';
  if (isDeeperThan(MAX_SCHEMA_DEPTH, schema)) return `its input schema has more than ${MAX_SCHEMA_DEPTH} levels`;
  const { length } = JSON.stringify(schema);
  return length > MAX_SCHEMA
    ? `its input schema has ${length} characters of JSON; at most ${MAX_SCHEMA} are allowed`
    : undefined;
}

/** Marks an argument that is also sent as the header `Mcp-Param-…`, so that proxies can route a call by it. */
const HEADER_MARK = 'x-mcp-header';
/** The form of a header's name: `token` of RFC 9110. */
const TOKEN = /^[!#$%&'*+\-.^`|~\w]+$/;
const HEADER_TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'enum', 'const', 'examples']);

/**
 * Returns the fault of the header marks in an input schema; undefined if there is none. Revision 2026-07-28 of the protocol requires
 * clients to leave out tools with invalid marks. The schema has a limited depth.
 */
function headerFault(inputSchema: Readonly<Record<string, unknown>>): string | undefined {
  const names = new Set<string>();
  const visit = (value: unknown, property: string | undefined): string | undefined => {
    if (Array.isArray(value)) return firstFault(value, (item) => visit(item, undefined));
    if (!isRecord(value)) return undefined;
    const own = Object.hasOwn(value, HEADER_MARK) ? faultOfMark(value, property) : undefined;
    return (
      own ??
      firstFault(Object.entries(value), ([key, held]) => {
        if (DATA_KEYWORDS.has(key)) return undefined;
        if (key !== 'properties' || !isRecord(held)) return visit(held, undefined);
        const isReached = property !== undefined || value === inputSchema;
        return firstFault(Object.entries(held), ([name, schema]) => visit(schema, isReached ? name : undefined));
      })
    );
  };
  const faultOfMark = (schema: Readonly<Record<string, unknown>>, property: string | undefined): string | undefined => {
    const name = schema[HEADER_MARK];
    if (property === undefined) return `its input schema has ${HEADER_MARK} outside of a property`;
    const where = `${HEADER_MARK} of its argument ${JSON.stringify(property.slice(0, MAX_NAME))}`;
    if (typeof name !== 'string' || !TOKEN.test(name)) return `${where} is not the name of a header`;
    if (!HEADER_TYPES.includes(schema['type'])) return `${where} is only for string, integer and boolean`;
    if (names.has(name.toLowerCase())) return `${where} is that of another argument too`;
    names.add(name.toLowerCase());
    return undefined;
  };
  return visit(inputSchema, undefined);
}

function firstFault<T>(values: readonly T[], faultIn: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const fault = faultIn(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
