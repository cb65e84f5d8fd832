import { loadAllSkillsInDir as loadAll, loadSkillFromDir as loadOne } from '#skills';
import { type BaseCodeExecutor, ConfigurationError } from '@eventloom/core';
import { describeKind, isRecord, wrongOption } from '@eventloom/core/internal';
import {
  type Skill,
  SkillError,
  type SkillFile,
  type SkillRegistry,
  type SkillResources,
  SkillToolset,
  type SkillToolsetOptions,
} from '@eventloom/skills';
import { requirePath } from './check-arguments.ts';

/** A script of a skill in the shape of `@google/adk`. */
export interface Script {
  /** The source text of the script. */
  readonly src: string;
}

/** A skill in the shape of `@google/adk`, whose scripts are objects, or in that of `@eventloom/skills`. */
export interface AdkSkill extends Omit<Skill, 'resources'> {
  readonly resources?:
    | (Omit<SkillResources, 'scripts'> & {
        readonly scripts?: Readonly<Record<string, Script | SkillFile>> | undefined;
      })
    | undefined;
}

/** Options of the `SkillToolset` for programs that were written for `@google/adk`. */
export interface AdkSkillToolsetOptions {
  /** Runs the JavaScript of skills, and adds the tool `run_skill_script`. Default: no script is run. */
  readonly codeExecutor?: BaseCodeExecutor | undefined;
  /** Tools and toolsets of which the agent gets those that a loaded skill names in `metadata.adk_additional_tools`. Default: none. */
  readonly additionalTools?: SkillToolsetOptions['additionalTools'];
  /** More skills than the agent can list, which `search_skills` finds. Default: none. */
  readonly registry?: AdkSkillRegistry | undefined;
  /** True lets the model run JavaScript that it writes, once a person has confirmed it. Needs a `codeExecutor`. Default false. */
  readonly allowInlineScripts?: boolean | undefined;
}

/** A registry of skills in the shape of `@google/adk`. */
export interface AdkSkillRegistry extends Omit<SkillRegistry, 'getSkill'> {
  getSkill(name: string): Promise<AdkSkill | undefined>;
}

/**
 * Offers skills to an agent, for programs that were written for `@google/adk`. It is the `SkillToolset` of `@eventloom/skills` with the
 * constructor of the ADK.
 *
 * @example
 * const skills = await loadAllSkillsInDir('skills');
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest', tools: [new SkillToolset(skills)] });
 */
export class AdkSkillToolset extends SkillToolset {
  /** The name of the class in error messages. */
  static override readonly name: string = 'SkillToolset';
  /** The skills by their names. */
  readonly skills: Readonly<Record<string, AdkSkill>>;

  /** @throws ConfigurationError for wrong options and those that are not offered @throws SkillError for a skill with wrong front matter */
  constructor(skills: readonly AdkSkill[] | Readonly<Record<string, AdkSkill>>, options: AdkSkillToolsetOptions = {}) {
    const list = isRecord(skills) ? Object.values(skills) : skills;
    if (!Array.isArray(list))
      throw new ConfigurationError(
        `SkillToolset: expected skills, got ${describeKind(skills)}; write new SkillToolset(await loadAllSkillsInDir('skills'))`,
      );
    const { registry, ...others } = options;
    super({ ...others, skills: list.map(toSkill), ...(registry && { registry: toRegistry(registry) }) });
    this.skills = byName(list);
  }

  /** Returns the skill with this name; undefined if the toolset has none. */
  getSkill(name: string): AdkSkill | undefined {
    return Object.hasOwn(this.skills, name) ? this.skills[name] : undefined;
  }
}

/** Loads the skill in a folder, as `@google/adk` does. Only on Node. @throws SkillError for a skill that is wrong */
export async function loadSkillFromDir(skillDir: string): Promise<Skill> {
  requirePath('loadSkillFromDir', skillDir, 'skills/weather');
  return loadOne(skillDir);
}

/** Returns the faults of the skill in a folder; an empty list if it has none. Only on Node. */
export async function validateSkillDir(skillDir: string): Promise<string[]> {
  requirePath('validateSkillDir', skillDir, 'skills/weather');
  try {
    await loadOne(skillDir);
    return [];
  } catch (error) {
    if (SkillError.isInstance(error)) return [error.message];
    throw error;
  }
}

/** Loads the skill of each folder in a folder, and returns them by their names, as `@google/adk` does. Only on Node. @throws SkillError for the first that is wrong */
export async function loadAllSkillsInDir(skillsBasePath: string): Promise<Record<string, Skill>> {
  requirePath('loadAllSkillsInDir', skillsBasePath, 'skills');
  return byName(await loadAll(skillsBasePath));
}

function byName<S extends AdkSkill>(skills: readonly S[]): Record<string, S> {
  return Object.fromEntries(skills.map((skill) => [skill.frontmatter.name, skill]));
}

function toSkill(skill: AdkSkill): Skill {
  if (!isRecord(skill) || !isRecord(skill.resources?.scripts)) return skill as Skill;
  const scripts = Object.entries(skill.resources.scripts).map(([path, script]): [string, SkillFile] => [
    path,
    isScript(script) ? script.src : script,
  ]);
  return { ...skill, resources: { ...skill.resources, scripts: Object.fromEntries(scripts) } };
}

function toRegistry(registry: AdkSkillRegistry): SkillRegistry {
  if (typeof registry.getSkill !== 'function' || typeof registry.searchSkills !== 'function')
    throw wrongOption(
      'SkillToolset',
      'registry',
      'an object with the methods getSkill and searchSkills',
      registry,
      '{ getSkill: (name) => …, searchSkills: (query) => … }',
    );
  return {
    getSkill: async (name) => {
      const skill = await registry.getSkill(name);
      return skill && toSkill(skill);
    },
    searchSkills: (query) => registry.searchSkills(query),
    searchToolDescription: () => registry.searchToolDescription?.(),
  };
}

function isScript(script: Script | SkillFile): script is Script {
  return isRecord(script) && 'src' in script;
}
