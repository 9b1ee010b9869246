import { once } from 'node:events';
import { constants } from 'node:os';
import { compose, type RunningServer } from '../server/compose.ts';
import { openLog } from '../server/open-log.ts';
import type { LogSettings, ServerSettings } from '../server/settings.ts';
import { StartError } from '../server/start-error.ts';
import type { ServerLog } from '../telemetry/log.ts';
import type { Ending } from './leave-process.ts';

interface Ended extends Ending {
  /** Why it could not start, for the console, behind all that the log has to say. */
  readonly reason?: string | undefined;
}

/** On the console even where the log does not reach it. */
const printError = (message: string): void => {
  process.stderr.write(`error: ${message}\n`);
};

/** Aborts with the first SIGTERM or SIGINT. Later ones are taken and ignored, as in Triton: the shutdown is under way. */
const stopSignal = (log: ServerLog): AbortSignal => {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) return;
      log.info(`Signal (${constants.signals[name]}) received.`);
      stop.abort();
    });
  }
  return stop.signal;
};

/** A port that cannot be had is a line of the log, as in Triton; models that do not load are not. Returns what the console is to be told beside it. */
const reportStartError = ({ message, step }: StartError, settings: LogSettings, log: ServerLog): string | undefined => {
  if (step === 'listen') log.error(message);
  const isOnConsole = step === 'listen' && settings.error && settings.file === '';
  return isOnConsole ? undefined : message;
};

const start = async (settings: ServerSettings, log: ServerLog, signal: AbortSignal): Promise<RunningServer | Ended> => {
  try {
    return await compose({ settings, log, signal });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const { threadsEnded } = error;
    if (signal.aborted) return { status: 0, threadsEnded };
    return { status: 1, threadsEnded, reason: reportStartError(error, settings.log, log) };
  }
};

const stop = async (server: RunningServer, log: ServerLog): Promise<Ending> => {
  const { inTime, threadsEnded } = await server.close();
  if (!inTime) log.error('failed to stop server: Internal - Exit timeout expired. Exiting immediately.');
  return { status: inTime ? 0 : 1, threadsEnded };
};

const serveUntil = async (signal: AbortSignal, settings: ServerSettings, log: ServerLog): Promise<Ended> => {
  const started = await start(settings, log, signal);
  if ('status' in started) return started;
  if (!signal.aborted) await once(signal, 'abort');
  return stop(started, log);
};

/** Serves until a signal, and answers how the process should end. */
export const serve = async (settings: ServerSettings, warnings: readonly string[]): Promise<Ending> => {
  let log: ServerLog;
  try {
    log = openLog(settings.log);
  } catch (error) {
    printError(`cannot write the log file: ${error instanceof Error ? error.message : String(error)}`);
    return { status: 1, threadsEnded: true };
  }
  for (const warning of warnings) log.warning(warning);
  const signal = stopSignal(log);
  const { reason, ...ending } = await serveUntil(signal, settings, log);
  await log.close();
  if (reason !== undefined) printError(reason);
  return ending;
};
