/**
 * The part of the Standard Schema and Standard JSON Schema interfaces (standardschema.dev, version 1) that is used here. It lets
 * tools accept schemas of arktype, valibot and others without a dependency on them.
 */
export interface StandardSchemaWithJson<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** The library's check. If absent, values are checked against the JSON Schema. */
    readonly validate?: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

/** The result of a library's check. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A problem that a schema library reports, and the path of the value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod 3 or `zod/v3`. */
export interface Zod3Schema<Output = unknown> {
  readonly _output: Output;
  readonly _def: { readonly typeName?: unknown };
}

/** A schema of zod 4 or `zod/mini`, of any version. */
export interface Zod4Schema<Output = unknown> {
  readonly _zod: { readonly output: Output };
}

/** The structure of a `Schema` of `@google/genai`, whose types are in upper case (`Type.OBJECT`). */
export interface GenaiSchema {
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly format?: string | undefined;
  readonly nullable?: boolean | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly anyOf?: readonly GenaiSchema[] | undefined;
  readonly items?: GenaiSchema | undefined;
  readonly properties?: Readonly<Record<string, GenaiSchema>> | undefined;
  readonly propertyOrdering?: readonly string[] | undefined;
  readonly required?: readonly string[] | undefined;
  readonly pattern?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minItems?: string | undefined;
  readonly maxItems?: string | undefined;
  readonly minLength?: string | undefined;
  readonly maxLength?: string | undefined;
  readonly minProperties?: string | undefined;
  readonly maxProperties?: string | undefined;
  /** Always absent: a schema of a library with `~standard` needs its own JSON Schema. */
  readonly '~standard'?: never;
}

/** JSON Schema as an object. Types in upper case, as `@google/genai` writes them, are accepted too. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A schema of a value: of zod (3, 4, mini), any other Standard Schema with a JSON Schema (arktype, valibot through
 * `toStandardJsonSchema`), a `Schema` of `@google/genai`, or JSON Schema itself.
 */
export type SchemaLike = StandardSchemaWithJson | Zod3Schema | Zod4Schema | GenaiSchema | JsonSchema;

/** Type of a value that passes the schema. */
export type InferSchema<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : S extends Zod4Schema<infer Output>
    ? Output
    : S extends Zod3Schema<infer Output>
      ? Output
      : Record<string, unknown>;
