import {
  type BaseCodeExecutor,
  type BaseTool,
  BaseToolset,
  type BaseToolsetOptions,
  ConfigurationError,
  type ReadonlyContext,
} from '@eventloom/core';
import {
  checkOptions,
  integer,
  isBaseTool,
  isBaseToolset,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import { type Skill, toFrontmatter } from './skill.ts';
import { RunSkillInlineScriptTool, RunSkillScriptTool } from './skill-scripts.ts';
import { isSkill, Shelf, type SkillRegistry } from './skill-shelf.ts';
import { ListSkillsTool, LoadSkillResourceTool, LoadSkillTool, SearchSkillsTool } from './skill-tools.ts';

/** Options of a `SkillToolset`. */
export interface SkillToolsetOptions extends BaseToolsetOptions {
  /** The skills that the agent may load. */
  readonly skills: readonly Skill[];
  /**
   * A source of further skills, for more than the agent can list. Adds the tool `search_skills`; `load_skill` loads the found skills.
   * Default: none.
   */
  readonly registry?: SkillRegistry | undefined;
  /**
   * Tools and toolsets for loaded skills: the agent gets the tools whose names a loaded skill lists in `metadata.adk_additional_tools` of
   * its front matter. Default: none.
   */
  readonly additionalTools?: readonly (BaseTool | BaseToolset)[] | undefined;
  /**
   * Runs the JavaScript of skills, such as `new QuickJsCodeExecutor()` of `@eventloom/quickjs`. Adds the tool `run_skill_script`. Default:
   * scripts are not run.
   */
  readonly codeExecutor?: BaseCodeExecutor | undefined;
  /**
   * True adds the tool `run_skill_inline_script`, with which the model runs JavaScript that it writes, in the
   * `codeExecutor`. A person confirms each script. Default false.
   */
  readonly allowInlineScripts?: boolean | undefined;
  /**
   * Maximum number of skills that a session has loaded at the same time. The one that was loaded first is released for a new one. Default
   * 8.
   */
  readonly maxActiveSkills?: number | undefined;
}

const SKILLS = "await loadAllSkillsInDir('skills'), of @eventloom/skills/node";
const OPTIONS: OptionRules<SkillToolsetOptions> = {
  skills: { is: 'list', wanted: 'a list of skills', write: SKILLS },
  registry: 'object',
  additionalTools: 'list',
  codeExecutor: 'object',
  allowInlineScripts: 'flag',
  maxActiveSkills: integer(1, 100),
  name: 'text',
  onUnavailable: 'text',
};
const HINTS = { scriptOutputDir: 'leave it out; files that a script makes are in its result' };

/** Maximum number of skills of a toolset. */
const MAX_SKILLS = 200;
/** Maximum number of additional tools that one skill may name. */
const MAX_NAMED_TOOLS = 100;

/**
 * Offers skills to an agent. The names and descriptions of all skills are in the instruction, and the model loads a skill when it needs it.
 * The model then gets the skill's instructions and the tools that the skill names, can read its files, and can run its scripts if there is
 * a `codeExecutor`.
 *
 * The names of the loaded skills are kept in the session's state.
 *
 * @example
 * const toolset = new SkillToolset({
 *   skills: [{ frontmatter: { name: 'greeting', description: 'Greets people.' }, instructions: 'Say hello twice.' }],
 * });
 * const agent = new LlmAgent({ name: 'host', model: 'gemini-flash-latest', tools: [toolset] });
 */
export class SkillToolset extends BaseToolset {
  readonly #shelf: Shelf;
  readonly #tools: readonly BaseTool[];
  readonly #additional: readonly (BaseTool | BaseToolset)[];
  /** The number of skills that were loaded so far. */
  #loads = 0;

  /**
   * @throws ConfigurationError for invalid options and two skills with the same name
   * @throws SkillError for a skill with invalid front matter
   */
  constructor(options: SkillToolsetOptions) {
    checkOptions('SkillToolset', OPTIONS, options, HINTS, '{ skills: [skill] }');
    const { skills, registry, additionalTools = [], codeExecutor, name = 'skills', onUnavailable } = options;
    super([], undefined, { name, ...(onUnavailable !== undefined && { onUnavailable }) });
    this.#shelf = new Shelf({
      skills: bySkillName(skills),
      registry: checkRegistry(registry),
      stateKey: `skills:${name}`,
      maxActive: options.maxActiveSkills ?? 8,
    });
    if (options.allowInlineScripts === true && !codeExecutor)
      throw new ConfigurationError(
        'SkillToolset: allowInlineScripts needs a codeExecutor; write codeExecutor: new QuickJsCodeExecutor()',
      );
    this.#tools = [
      new ListSkillsTool(this.#shelf),
      new LoadSkillTool(this.#shelf, () => void this.#loads++),
      new LoadSkillResourceTool(this.#shelf),
      ...(registry ? [new SearchSkillsTool(this.#shelf)] : []),
      ...(codeExecutor ? [new RunSkillScriptTool(this.#shelf, codeExecutor)] : []),
      ...(codeExecutor && options.allowInlineScripts === true ? [new RunSkillInlineScriptTool(codeExecutor)] : []),
    ];
    this.#additional = additionalTools;
    const taken = new Set(this.#tools.map((tool) => tool.name));
    for (const [index, tool] of additionalTools.entries()) {
      if (isBaseToolset(tool)) continue;
      if (!isBaseTool(tool))
        throw wrongOption('SkillToolset', `additionalTools[${index}]`, 'a tool or a toolset', tool, '[getWeather]');
      if (taken.has(tool.name))
        throw new ConfigurationError(
          `SkillToolset: additionalTools[${index}]: another tool has the name "${tool.name}"; give one of them another name`,
        );
      taken.add(tool.name);
    }
  }

  /** Changes when a skill was loaded, which may add tools, and when the tools of an additional toolset changed. */
  override get version(): number {
    return this.#toolsets.reduce((sum, { version = 0 }) => sum + version, this.#loads);
  }

  /**
   * Returns the tools over skills, and the additional tools that the loaded skills name; without a context all additional tools.
   * @throws SkillError if the registry fails, and errors of additional toolsets
   */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const named = context && (await this.#namedTools(context));
    if (named?.size === 0) return [...this.#tools];
    const offered = new Map(this.#tools.map((tool) => [tool.name, tool]));
    for (const each of this.#additional) {
      // The tools of a toolset cannot replace other tools.
      for (const tool of isBaseToolset(each) ? await each.getTools(context) : [each])
        if (!offered.has(tool.name) && (named?.has(tool.name) ?? true)) offered.set(tool.name, tool);
    }
    return [...offered.values()];
  }

  /** Suspends the additional toolsets. */
  override async suspend(): Promise<void> {
    await Promise.all(this.#toolsets.map((toolset) => toolset.suspend()));
  }

  /** Closes the additional toolsets. */
  override async close(): Promise<void> {
    await Promise.all(this.#toolsets.map((toolset) => toolset.close()));
  }

  get #toolsets(): readonly BaseToolset[] {
    return this.#additional.filter(isBaseToolset);
  }

  /** Returns the names of the additional tools that the loaded skills of the session name. */
  async #namedTools(context: ReadonlyContext): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    if (this.#additional.length === 0) return names;
    for (const active of this.#shelf.activeNames(context)) {
      const skill = await this.#shelf.skillOf(active, context);
      const wanted: unknown = skill?.frontmatter.metadata?.['adk_additional_tools'];
      for (const name of Array.isArray(wanted) ? wanted.slice(0, MAX_NAMED_TOOLS) : [])
        if (typeof name === 'string') names.add(name);
    }
    return names;
  }
}

function bySkillName(skills: readonly Skill[] | undefined): ReadonlyMap<string, Skill> {
  if (skills === undefined) throw wrongOption('SkillToolset', 'skills', 'a list of skills', skills, SKILLS);
  const byName = new Map<string, Skill>();
  for (const [index, skill] of skills.entries()) {
    if (!isSkill(skill)) throw wrongOption('SkillToolset', `skills[${index}]`, 'a skill', skill, SKILLS);
    const { name } = toFrontmatter({ ...skill.frontmatter }, `skills[${index}]`);
    if (byName.has(name))
      throw new ConfigurationError(`SkillToolset: two skills have the name "${name}"; remove or rename one of them`);
    byName.set(name, skill);
  }
  if (byName.size > MAX_SKILLS)
    throw new ConfigurationError(
      `SkillToolset: skills: has ${byName.size}; at most ${MAX_SKILLS} are allowed; write registry for more`,
    );
  return byName;
}

function checkRegistry(registry: SkillRegistry | undefined): SkillRegistry | undefined {
  const isRegistry = typeof registry?.getSkill === 'function' && typeof registry.searchSkills === 'function';
  if (registry && !isRegistry)
    throw wrongOption(
      'SkillToolset',
      'registry',
      'an object with the methods getSkill and searchSkills',
      registry,
      '{ getSkill: (name) => …, searchSkills: (query) => … }',
    );
  return registry;
}
