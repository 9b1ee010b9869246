import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onCore } from './pinned.ts';

/** Runs a script with one JSON argument in a process of its own and answers the JSON that it prints. Rejects when it fails. */
export const askProcess = async <Answer>(script: string, argument: unknown, core: number | undefined): Promise<Answer> => {
  const [command = '', ...args] = onCore(core, [process.execPath, script, JSON.stringify(argument)]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${script} ended with ${code ?? signal}`);
  return JSON.parse(printed);
};
