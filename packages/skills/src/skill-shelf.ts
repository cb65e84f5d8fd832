import { type ReadonlyContext, StorageError, type ToolContext, toError } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { SkillError } from './errors.ts';
import { type Frontmatter, type Skill, toFrontmatter } from './skill.ts';

/** A source of more skills than an agent can list. The model searches it, and a skill is fetched when it is loaded. */
export interface SkillRegistry {
  /** Returns the skill with this name; undefined if there is none. Called at most once for a skill in each run. */
  getSkill(name: string): Promise<Skill | undefined>;
  /** Returns the skills that match words or a question, best first. The model gets at most 50. */
  searchSkills(query: string): Promise<readonly Frontmatter[]>;
  /** Returns the description of the tool `search_skills`. Default: that it searches for skills. */
  searchToolDescription?(): string | undefined;
}

/** Maximum number of results of a search. */
const MAX_RESULTS = 50;

interface ShelfParams {
  /** The toolset's own skills by name. */
  readonly skills: ReadonlyMap<string, Skill>;
  readonly registry: SkillRegistry | undefined;
  /** Key of the state under which the names of the loaded skills are kept. */
  readonly stateKey: string;
  readonly maxActive: number;
}

/**
 * The skills that the tools of a toolset share: the toolset's own skills, the registry's, and the names of the skills that a session has
 * loaded.
 */
export class Shelf {
  readonly #params: ShelfParams;
  /** Skills of the registry by run and name. They are kept so that a skill does not change during a run. */
  readonly #fetched = new WeakMap<object, Map<string, Promise<Skill | undefined>>>();

  constructor(params: ShelfParams) {
    this.#params = params;
  }

  get skills(): ReadonlyMap<string, Skill> {
    return this.#params.skills;
  }

  get registry(): SkillRegistry | undefined {
    return this.#params.registry;
  }

  /** Returns the names of the loaded skills, oldest first. */
  activeNames({ state }: ReadonlyContext): string[] {
    const { skills, registry, stateKey, maxActive } = this.#params;
    const stored: unknown = state.get(stateKey);
    const names = Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : [];
    return names.filter((name) => skills.has(name) || registry !== undefined).slice(-maxActive);
  }

  /** Loads a skill in the session, and returns the names of the skills that it released in exchange. */
  activate(name: string, context: ToolContext): string[] {
    const { stateKey, maxActive } = this.#params;
    const active = [...this.activeNames(context).filter((other) => other !== name), name];
    const released = active.splice(0, Math.max(0, active.length - maxActive));
    context.state.set(stateKey, active);
    return released;
  }

  /** Returns a skill of the toolset, otherwise one of the registry; undefined if there is none. @throws SkillError if the registry fails */
  async skillOf(name: unknown, { invocationContext }: ReadonlyContext): Promise<Skill | undefined> {
    const { skills, registry } = this.#params;
    if (typeof name !== 'string') return undefined;
    const own = skills.get(name);
    if (own || !registry) return own;
    const { invocation } = invocationContext;
    const fetched = this.#fetched.get(invocation) ?? new Map<string, Promise<Skill | undefined>>();
    this.#fetched.set(invocation, fetched);
    const known = fetched.get(name);
    if (known) return known;
    const skill = fetchSkill(registry, name);
    fetched.set(name, skill);
    // After a failure the registry is asked again.
    skill.catch(() => fetched.delete(name));
    return skill;
  }

  /**
   * Returns a loaded skill, or an error that says what the model has to do first.
   *
   * @throws SkillError if the registry fails
   */
  async find(name: unknown, context: ToolContext): Promise<Skill | { readonly error: string }> {
    const skill = await this.skillOf(name, context);
    if (!skill) return this.unknownSkill();
    const { name: found } = skill.frontmatter;
    if (!this.activeNames(context).includes(found))
      return { error: `the skill "${found}" is not loaded; call load_skill first` };
    return skill;
  }

  /** Returns the response for the name of an unknown skill. */
  unknownSkill(): { readonly error: string } {
    const { skills, registry } = this.#params;
    const others = registry ? '; search_skills finds others' : '';
    return { error: `there is no skill of this name; the skills are: ${[...skills.keys()].join(', ')}${others}` };
  }

  /**
   * Searches the registry. Omits skills with the name of an own skill, and skills with invalid front matter.
   *
   * @throws SkillError if the registry fails
   */
  async search(query: string): Promise<{ readonly name: string; readonly description: string }[]> {
    const { skills, registry } = this.#params;
    const found: unknown = await answerOf(() => registry?.searchSkills(query));
    const results = new Map<string, string>();
    for (const each of Array.isArray(found) ? found.slice(0, 2 * MAX_RESULTS) : []) {
      const { name, description } = isRecord(each) ? each : {};
      if (results.size === MAX_RESULTS || skills.has(String(name))) continue;
      try {
        const checked = toFrontmatter({ name, description }, 'registry');
        results.set(checked.name, checked.description);
      } catch (error) {
        if (!SkillError.isInstance(error)) throw error;
      }
    }
    return Array.from(results, ([name, description]) => ({ name, description }));
  }
}

async function fetchSkill(registry: SkillRegistry, name: string): Promise<Skill | undefined> {
  const skill: unknown = await answerOf(() => registry.getSkill(name));
  if (skill === undefined || skill === null) return undefined;
  const shown = JSON.stringify(name.slice(0, 64));
  if (!isSkill(skill))
    throw new SkillError(
      `registry: getSkill: expected a skill or undefined for ${shown}, got ${describeKind(skill)}; write return { frontmatter: { name, description }, instructions }`,
    );
  const { name: found } = toFrontmatter({ ...skill.frontmatter }, `registry, ${shown}`);
  if (found !== name)
    throw new SkillError(
      `registry: getSkill: expected the skill ${shown}, got ${JSON.stringify(found)}; return the skill of the given name, or undefined`,
    );
  return skill;
}

async function answerOf<T>(ask: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await ask();
  } catch (cause) {
    if (StorageError.isInstance(cause)) throw cause;
    throw new SkillError(`registry: failed: ${toError(cause).message.slice(0, 500)}`, { cause });
  }
}

/** True for an object with the fields of a skill. Its front matter is not checked. */
export function isSkill(value: unknown): value is Skill {
  return isRecord(value) && isRecord(value['frontmatter']) && typeof value['instructions'] === 'string';
}
