/** A running server of one's own. */
export interface Postgres {
    /** Of its maintenance database, as a user who may do everything. */
    readonly url: string;
    /** Ends the server at once and removes its files. */
    stop(): Promise<void>;
}
/**
 * Starts a throw-away PostgreSQL on a free port of 127.0.0.1, in a temporary folder. Takes about a second. It ends with this
 * process, however that ends. For root, the server runs as nobody.
 * @throws Error when there is none for this platform, or when it does not start
 */
export declare function startPostgres(): Promise<Postgres>;
