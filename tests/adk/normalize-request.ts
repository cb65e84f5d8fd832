/**
 * Texts that the libraries themselves write into a system instruction, each in its own words: the expression for those
 * of both, and what stands in their place in a comparison.
 */
const RUNTIME_TEXTS: readonly (readonly [RegExp, (text: string) => string])[] = [
  [
    /You are an agent\. Your internal name is "[^"]*"\.(?:\s*The description about you is "[^"]*"\.?)?/,
    (text) => `<identity: ${quotedIn(text).join(', ')}>`,
  ],
  [
    /You (?:have a list of other agents to transfer to:|can transfer the conversation to one of these agents:)[\s\S]*?(?:the function call\.|beside the call\.)(?:\s+(?:Your parent agent is|When it suits neither)[\s\S]*?(?:parent agent\.|above you\.))?/,
    (text) => `<transfer: ${targetsIn(text).toSorted().join(', ')}>`,
  ],
  [/You have memory\. You can use it[\s\S]*?with a query\./, () => ''],
  [
    /(?:You have a list of artifacts:|The conversation begins with a list of artifacts\.)[\s\S]*?(?:prior answers about the\s+artifacts\.|answers about them\.)/,
    () => '<artifacts>',
  ],
  [
    /To output the final result, you must call[^\n]*|When you have the final answer, hand it in[^\n]*/,
    () => '<set_model_response>',
  ],
  [/(?:Do NOT call `finish_task`|Work on your task with your tools)[\s\S]*?(?=\n\n|$)/, () => '<finish_task>'],
  [
    /(?:The following content is from your previous|Earlier conversations with this user)[\s\S]*?(?=<PAST_CONVERSATIONS>)/,
    () => '<memories> ',
  ],
  [/You have skills: instructions for certain tasks\.[\s\S]*?(?=\n\n|$)/, () => '<skills>'],
  [/To have code run, write it in one block[\s\S]*?```[\s\S]*?```/, () => '<code>'],
  [
    /You have a list of MCP resources:[\s\S]*?resources\.|The MCP server has these resources:[\s\S]*?about them\./,
    () => '<resources>',
  ],
];

function quotedIn(text: string): string[] {
  return Array.from(text.matchAll(/"([^"]*)"/g), ([, quoted = '']) => quoted);
}

/** Returns the names of the agents in an instruction about transfers. */
function targetsIn(text: string): string[] {
  return Array.from(text.matchAll(/(?:Agent name: |^- )([\w-]+)/gm), ([, name = '']) => name);
}

/** Functions of the libraries, which describe them in their own words. */
const RUNTIME_TOOLS = new Set([
  'adk_request_input',
  'finish_task',
  'get_user_choice',
  'load_artifacts',
  'load_mcp_resource',
  'list_skills',
  'load_memory',
  'load_skill',
  'load_skill_resource',
  'load_web_page',
  'run_skill_inline_script',
  'run_skill_script',
  'search_skills',
  'set_model_response',
  'transfer_to_agent',
]);

/**
 * Returns the parts of a request other than its conversation: the instruction, the declarations and the options, with
 * schemas in one form.
 */
export function settingsOf(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { contents: _, systemInstruction, tools, generationConfig, ...others } = body;
  const { responseSchema, responseJsonSchema, ...config } = isRecord(generationConfig) ? generationConfig : {};
  return {
    ...others,
    system: systemOf(systemInstruction),
    functions: toolsIn(tools).flatMap(declarationsOf),
    config: { ...config, schema: toSchema(responseSchema ?? responseJsonSchema) },
  };
}

/**
 * Returns the paragraphs of an instruction: the agent's name first, because one library writes it before the program's
 * texts and one after them.
 */
function systemOf(instruction: unknown): string[] {
  const parts =
    isRecord(instruction) && Array.isArray(instruction['parts']) ? instruction['parts'].filter(isRecord) : [];
  let text = parts.map((part) => String(part['text'])).join('\n\n');
  for (const [expression, replace] of RUNTIME_TEXTS)
    text = text.replace(expression, (found) => `\n\n${replace(found)}\n\n`);
  const paragraphs = text
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
  const isName = (paragraph: string): boolean => paragraph.startsWith('<identity: ');
  return [...paragraphs.filter(isName), ...paragraphs.filter((paragraph) => !isName(paragraph))];
}

function toolsIn(tools: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(tools) ? tools.filter(isRecord) : [];
}

function declarationsOf({ functionDeclarations }: Readonly<Record<string, unknown>>): object[] {
  return toolsIn(functionDeclarations).map((declaration) => {
    const { name, description, parameters, parametersJsonSchema, ...others } = declaration;
    // A function without parameters is declared with an empty object, or with none.
    const schema = toSchema(parameters ?? parametersJsonSchema ?? { type: 'object', properties: {} });
    // Both take the name of an agent; the guide says how they differ.
    if (name === 'transfer_to_agent') return { ...others, name };
    return RUNTIME_TOOLS.has(String(name))
      ? { ...others, name, parameters: withoutTexts(schema) }
      : { ...others, name, description: withoutNote(String(description)), parameters: schema };
  });
}

/** Notes of the libraries in descriptions of the program's own tools. */
const NOTES = [
  /\s*NOTE: This is a long-running operation\.[\s\S]*$/,
  /\s*The result comes later\. After one call[\s\S]*$/,
  /^What the agent is to do, with all that it has to know\.$/,
];

function withoutNote(description: string): string | undefined {
  return NOTES.reduce((text, note) => text.replace(note, ''), description) || undefined;
}

const LIMITS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

/** Keys that only one dialect has, and that say nothing about the values. */
const OMITTED = new Set(['$schema', 'additionalProperties', 'propertyNames', 'title']);

/**
 * Returns a schema of either dialect in one form: that of Gemini has `nullable`, capital types and limits as texts, and
 * no null as a default.
 */
function toSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toSchema);
  if (!isRecord(schema)) return schema;
  const { anyOf, ...own } = schema;
  const branches = Array.isArray(anyOf) ? anyOf.filter(isRecord) : [];
  const others = branches.filter(({ type }) => type !== 'null');
  if (others.length < branches.length && others.length === 1) return toSchema({ ...others[0], ...own, nullable: true });
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (OMITTED.has(key) || (key === 'default' && value === null)) return [];
    if (key === 'type' && typeof value === 'string') return [[key, value.toLowerCase()]];
    if (key === 'type' && Array.isArray(value) && value.length === 2 && value[1] === 'null')
      return [
        ['type', value[0]],
        ['nullable', true],
      ];
    if (LIMITS.includes(key)) return [[key, Number(value)]];
    if (key === 'description' && typeof value === 'string') return [[key, withoutNote(value)]];
    if (key === 'properties' && isRecord(value))
      return [[key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toSchema(each)]))]];
    return [[key, toSchema(value)]];
  });
  return Object.fromEntries(entries);
}

function withoutTexts(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const entries = Object.entries(schema).filter(([key]) => key !== 'description');
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutTexts(value)]));
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
