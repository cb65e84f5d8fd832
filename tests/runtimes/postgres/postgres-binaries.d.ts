/**
 * Copies PostgreSQL's programs, which npm installs for this platform, into a folder, and returns where they are. In a copy an
 * unprivileged user can run them wherever the repository is, and the links between its libraries can be made: npm has none.
 * @throws Error on a platform without such a package
 */
export declare function copyPostgresBinaries(folder: string): string;
/** The user nobody when this is root, as which PostgreSQL refuses to run; undefined for anyone else. */
export declare function postgresUser(): {
    readonly uid: number;
    readonly gid: number;
} | undefined;
