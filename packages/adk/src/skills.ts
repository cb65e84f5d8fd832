import { findSkillDirs, loadSkillFromDir as loadOne } from '#runtime';
import { type BaseCodeExecutor, ConfigurationError, toError } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
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
import { getLogger } from './logger.ts';

/** A script of a skill in the shape of `@google/adk`. */
export interface Script {
  /** The source text of the script. */
  readonly src: string;
}

/** The files of a skill that was loaded from a folder. A file that is not UTF-8 has its bytes. */
export interface AdkResources {
  readonly references?: Readonly<Record<string, string | Uint8Array>> | undefined;
  readonly assets?: Readonly<Record<string, string | Uint8Array>> | undefined;
  readonly scripts?: Readonly<Record<string, Script>> | undefined;
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

/** A skill with the contents of its files. */
type LoadedSkill = Omit<AdkSkill, 'resources'> & { readonly resources: AdkResources };

/**
 * Loads the skill in a folder with all of its files, as `@google/adk` does. Only on Node.
 * @throws SkillError for a skill that is wrong, and for a file that is too large
 */
export async function loadSkillFromDir(skillDir: string): Promise<LoadedSkill> {
  requirePath('loadSkillFromDir', skillDir, 'skills/weather');
  const { resources, ...skill } = await loadOne(skillDir);
  const scripts = Object.entries(await readFiles(resources?.scripts));
  return {
    ...skill,
    resources: {
      references: await readFiles(resources?.references),
      assets: await readFiles(resources?.assets),
      scripts: Object.fromEntries(
        scripts.map(([path, file]) => [
          path,
          { src: typeof file === 'string' ? file : new TextDecoder().decode(file) },
        ]),
      ),
    },
  };
}

/** Reads files as text, or as bytes if they are not UTF-8. */
async function readFiles(
  files: Readonly<Record<string, SkillFile>> = {},
): Promise<Record<string, string | Uint8Array>> {
  const read: Record<string, string | Uint8Array> = {};
  for (const [path, file] of Object.entries(files)) {
    const content = typeof file === 'function' ? await file() : file;
    read[path] = typeof content === 'string' ? content : decode(content);
  }
  return read;
}

/** Returns the text of bytes; the bytes themselves if they are not UTF-8. */
function decode(bytes: Uint8Array): string | Uint8Array {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
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

/**
 * Loads the skill of each folder below a folder, and returns them by their names, as `@google/adk` does. A folder with
 * a skill that is wrong is logged and left out. Only on Node. @throws SkillError for a path that is not a folder
 */
export async function loadAllSkillsInDir(skillsBasePath: string): Promise<Record<string, LoadedSkill>> {
  requirePath('loadAllSkillsInDir', skillsBasePath, 'skills');
  const skills: LoadedSkill[] = [];
  for (const dir of await findSkillDirs(skillsBasePath)) {
    try {
      skills.push(await loadSkillFromDir(dir));
    } catch (error) {
      getLogger().warn(`loadAllSkillsInDir: the skill in ${dir} is left out: ${toError(error).message}`);
    }
  }
  return byName(skills);
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
  // The constructor refuses it.
  if (typeof registry.getSkill !== 'function' || typeof registry.searchSkills !== 'function')
    return registry as SkillRegistry;
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
