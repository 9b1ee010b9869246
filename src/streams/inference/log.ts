/** Where any part of the server writes what an operator should know. Fields become part of the line; newlines are escaped. */
export interface Log {
  error(message: string): void;
  warning(message: string): void;
  info(message: string): void;
  /** Written from `--log-verbose=level` on. */
  verbose(level: number, message: string): void;
}
