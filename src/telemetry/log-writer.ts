import sonicBoom from 'sonic-boom';

export interface LogWriter {
  /** Takes a line with its newline. Never throws and never waits; past `limitBytes` waiting the line is dropped and counted. */
  write(line: string): void;
  /** Writes what waits before it returns. */
  flush(): void;
  /** Resolves once all that was taken is written. Lines that come later are dropped. */
  close(): Promise<void>;
}

interface LogWriterConfig {
  readonly descriptor: number;
  /** How much may wait for a slow reader of the log. */
  readonly limitBytes: number;
  /** Makes the line that says how many were dropped. */
  readonly droppedLine: (count: number) => string;
}

/** Writers that still have to be flushed when the process exits without closing them: one listener for all, however many servers there are. */
const openWriters = new Set<LogWriter>();

const flushAll = (): void => {
  for (const writer of openWriters) writer.flush();
};

const addOpen = (writer: LogWriter): void => {
  if (openWriters.size === 0) process.on('exit', flushAll);
  openWriters.add(writer);
};

const removeOpen = (writer: LogWriter): void => {
  openWriters.delete(writer);
  if (openWriters.size === 0) process.off('exit', flushAll);
};

/** Writes to a file descriptor off the event loop, in order. A reader that is gone ends the log, not the server. */
export const createLogWriter = ({ descriptor, limitBytes, droppedLine }: LogWriterConfig): LogWriter => {
  const sink = new sonicBoom.SonicBoom({ fd: descriptor, sync: false, maxLength: limitBytes });
  let dropped = 0;
  let isBroken = false;
  let closing: Promise<void> | undefined;

  sink.on('drop', () => {
    dropped += 1;
  });
  sink.on('drain', () => {
    if (dropped === 0 || closing !== undefined) return;
    const count = dropped;
    dropped = 0;
    sink.write(droppedLine(count));
  });
  sink.on('error', () => {
    isBroken = true;
  });

  const close = (): Promise<void> =>
    new Promise((resolve) => {
      sink.once('close', resolve);
      sink.once('error', () => resolve());
      if (isBroken) {
        sink.destroy();
        resolve();
      } else {
        sink.end();
      }
    });

  const writer: LogWriter = {
    write: (line) => {
      if (!isBroken && closing === undefined) sink.write(line);
    },
    flush: () => {
      if (isBroken) return;
      try {
        sink.flushSync();
      } catch {
        isBroken = true;
      }
    },
    close: () => {
      closing ??= close().finally(() => removeOpen(writer));
      return closing;
    },
  };
  addOpen(writer);
  return writer;
};
