import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import type { PythonOptions } from './python-models.ts';
import { answer, environment, executes, hasPython, modelClass, type PythonModel, pythonModel, requestOf } from './python-models.ts';

const opened: PythonModel[] = [];

const make = async (code: string, options?: PythonOptions): Promise<PythonModel> => {
  const model = await pythonModel(code, options);
  opened.push(model);
  return model;
};

/** Why it does not start. */
const failure = async (code: string, options?: PythonOptions): Promise<string> => {
  const model = await make(code, options);
  return model.open().then(
    () => 'it runs',
    (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
  );
};

afterAll(async () => {
  for (const model of opened) await model.remove();
});

const echo = executes('return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", r.inputs()[0].as_numpy())]) for r in requests]');

describe.skipIf(!hasPython)('the start of a Python model', () => {
  it('fails with what its code raises, and where', async () => {
    expect(await failure('def x(:\n')).toBe('INTERNAL SyntaxError: invalid syntax (model.py, line 3)');
    expect(await failure('import nothere\n')).toMatch(
      /^INTERNAL ModuleNotFoundError: No module named 'nothere'\n\nAt:\n {2}.*model\.py\(3\): <module>\n/,
    );
    expect(await failure('x = 1\n')).toBe("INTERNAL AttributeError: module '1.model' has no attribute 'TritonPythonModel'");
    expect(await failure(modelClass('def initialize(self, args):\n  raise ValueError("nö")'))).toMatch(
      /^INTERNAL ValueError: nö\n\nAt:\n {2}.*model\.py\(5\): initialize\n$/,
    );
  });

  it('fails when its process ends', async () => {
    expect(await failure('import os\nos._exit(3)\n')).toBe("INTERNAL Stub process 'm_0_0' is not healthy.");
    expect(await failure('import sys\nsys.exit("gone")\n')).toContain('INTERNAL SystemExit: gone');
  });

  it('gives a model what Triton gives it', async () => {
    const model = await make(
      modelClass(`
def initialize(self, args):
    import json
    assert all(type(v) is str for v in args.values())
    self.said = [args[k] for k in ("model_name", "model_version", "model_instance_name", "model_instance_kind", "model_instance_device_id")]
    self.said.append(str(json.loads(args["model_config"])["parameters"]["big"]))
    self.said.append(args["model_repository"].rsplit("/", 1)[1])
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(self.said, dtype=object))])]
`),
      { spec: { config: { parameters: { big: 2n ** 63n } } } },
    );
    expect(await answer(await model.open(), requestOf([1]))).toEqual(['m', '1', 'm_0_0', 'CPU', '0', '9223372036854775808', 'm']);
  });

  it('lets a model import its neighbours, both ways, and leaves no files behind', async () => {
    const model = await make(
      `from .near import two\nimport far\n${executes(
        'return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([two, far.three], np.float32))])]',
      )}`,
      { files: { 'near.py': 'two = 2\n', 'far.py': 'three = 3\n' } },
    );
    expect(await answer(await model.open(), requestOf([1]))).toEqual([2, 3]);
    expect((await readdir(model.files.versionDirectory)).toSorted()).toEqual(['far.py', 'model.py', 'near.py']);
  });

  it('runs the code that is there when it starts', async () => {
    const model = await make(
      `from .near import n\n${executes('return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n]))])]')}`,
      {
        files: { 'near.py': 'n = 1\n' },
      },
    );
    expect(await answer(await model.open(), requestOf([0]))).toEqual([1n]);
    await model.stop();
    await writeFile(join(model.files.versionDirectory, 'near.py'), 'n = 2\n');
    expect(await answer(await model.open(), requestOf([0]))).toEqual([2n]);
  });

  describe('EXECUTION_ENV_PATH', () => {
    const inModel = (path: string): PythonOptions => ({ spec: { parameters: new Map([['EXECUTION_ENV_PATH', path]]) } });

    it('may begin in the folder of the model, or be relative to it', async () => {
      for (const path of ['$$TRITON_MODEL_DIRECTORY/env', 'env']) {
        const model = await make(echo, inModel(path));
        await symlink(environment, join(model.files.modelDirectory, 'env'));
        expect(await answer(await model.open(), requestOf([5]))).toEqual([5]);
      }
    });

    it('may be an archive, which is unpacked once for all who use it, and removed again', async () => {
      const code = 'return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([os.environ["VIRTUAL_ENV"]], dtype=object))])]';
      const model = await make(`import os\n${executes(code)}`, inModel('env.tar.gz'));
      const folder = join(model.folder, 'env');
      await mkdir(join(folder, 'bin'), { recursive: true });
      await writeFile(join(folder, 'bin', 'python3'), `#!/bin/sh\nexec '${environment}/bin/python' "$@"\n`);
      await chmod(join(folder, 'bin', 'python3'), 0o755);
      execFileSync('tar', ['-czf', join(model.files.modelDirectory, 'env.tar.gz'), '-C', folder, '.']);
      const instances = await Promise.all([model.open(), model.open()]);
      const [[unpacked] = [], [same] = []] = await Promise.all(instances.map((instance) => answer(instance, requestOf([1]))));
      expect(unpacked).toBe(same);
      expect(existsSync(String(unpacked))).toBe(true);
      await model.stop();
      await until(() => !existsSync(String(unpacked)));
    });

    it.each([
      ['nowhere', "INVALID_ARGUMENT EXECUTION_ENV_PATH '.*/m/nowhere' does not exist"],
      ['1', "INVALID_ARGUMENT EXECUTION_ENV_PATH '.*/m/1' has no bin/python3"],
      ['1/model.py', "INVALID_ARGUMENT EXECUTION_ENV_PATH '.*/m/1/model.py' is no archive that tar can unpack"],
    ])('%s is refused', async (path, message) => {
      expect(await failure(echo, inModel(path))).toMatch(new RegExp(`^${message}$`));
    });

    const withPython = async (script: string, options: PythonOptions = {}): Promise<string> => {
      const model = await make(echo, { ...options, ...inModel('env') });
      const folder = join(model.files.modelDirectory, 'env', 'bin');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'python3'), script);
      await chmod(join(folder, 'python3'), 0o755);
      return model.open().then(
        () => 'it runs',
        (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
      );
    };

    it('without numpy, or with a Python that does not start, gives a clear error', async () => {
      expect(await withPython(`#!/bin/sh\nexec '${environment}/bin/python' -S "$@"\n`)).toMatch(
        /^UNAVAILABLE model instance 'm_0_0' needs numpy, which its Python \(.*\/env\/bin\/python3\) does not have$/,
      );
      expect(await withPython('#!/bin/sh\nexit 9\n')).toMatch(
        /^UNAVAILABLE unable to start the Python of model instance 'm_0_0' \(.*\): it ended with status 9$/,
      );
      expect(await withPython('#!/nowhere/sh\n')).toMatch(
        /^UNAVAILABLE unable to start the Python of model instance 'm_0_0' \(.*\): spawn .* ENOENT$/,
      );
    });

    it('with one that is too slow gives up after stub-timeout-seconds', async () => {
      expect(await withPython('#!/bin/sh\nsleep 600\n', { settings: { 'stub-timeout-seconds': '1' } })).toMatch(
        /^UNAVAILABLE the Python of model instance 'm_0_0' \(.*\) did not start within 1 s; --backend-config=python,stub-timeout-seconds=<n> gives it longer$/,
      );
    });
  });

  it('takes as long as initialize takes', async () => {
    const model = await make(
      `import time\n${modelClass(`
def initialize(self, args):
    time.sleep(1.3)
def execute(self, requests):
    return [pb_utils.InferenceResponse([])]
`)}`,
      { settings: { 'stub-timeout-seconds': '1' } },
    );
    expect(await answer(await model.open(), requestOf([1]))).toBeUndefined();
  });

  describe('auto_complete_config', () => {
    const complete = async (body: string, config: Readonly<Record<string, unknown>> = {}): Promise<unknown> => {
      const model = await make(modelClass(`@staticmethod\ndef auto_complete_config(config):\n${body.replaceAll(/^/gm, '  ')}`));
      const parameters = { EXECUTION_ENV_PATH: { string_value: environment } };
      const completed = await model.backend
        .completeConfig?.(model.files, { name: 'm', max_batch_size: 0, input: [], output: [], parameters, ...config })
        .catch((error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message.split('\n')[0]}`);
      await model.stop();
      expect(model.log.lines).toEqual([]);
      if (typeof completed !== 'object') return completed;
      const { parameters: _, name: __, ...rest } = completed;
      return rest;
    };

    it('completes a config, and leaves one alone that says it all', async () => {
      const input = { name: 'X', data_type: 'TYPE_FP32', dims: [4], optional: true };
      const output = { name: 'Y', data_type: 'TYPE_STRING', dims: [-1] };
      const all = `
config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [4], "optional": True})
config.add_output({"name": "Y", "data_type": "TYPE_STRING", "dims": [-1]})
config.set_max_batch_size(8)
config.set_dynamic_batching()
config.set_model_transaction_policy({"decoupled": True})
assert config.as_dict()["name"] == "m"
return config`.trim();
      const completed = {
        max_batch_size: 8,
        input: [input],
        output: [output],
        dynamic_batching: {},
        model_transaction_policy: { decoupled: true },
      };
      expect(await complete(all)).toEqual(completed);
      expect(await complete(all, completed)).toEqual(completed);
    });

    it('leaves a config alone where there is none', async () => {
      const model = await make(echo);
      const config = { name: 'm', max_batch_size: 3, parameters: { EXECUTION_ENV_PATH: { string_value: environment } } };
      expect(await model.backend.completeConfig?.(model.files, config)).toEqual(config);
    });

    const x = { name: 'X', data_type: 'TYPE_INT32', dims: [16] };
    it.each<[string, Readonly<Record<string, unknown>>, string]>([
      [
        'config.set_max_batch_size(4)',
        { max_batch_size: 8 },
        "ValueError: configuration specified max_batch_size 8, but in auto-complete-config function for model 'm' specified max_batch_size 4",
      ],
      [
        'config.set_dynamic_batching()',
        { sequence_batching: {} },
        "ValueError: Configuration specified scheduling_choice as 'sequence_batching', but auto-complete-config function for model 'm' tries to set scheduling_choice as 'dynamic_batching'",
      ],
      [
        'config.add_input({"dims": []})',
        {},
        "ValueError: input in auto-complete-config function for model 'm' is missing 'name' property.",
      ],
      [
        'config.add_output({"name": "Y", "data_type": "TYPE_FP32"})',
        {},
        "ValueError: output 'Y' in auto-complete-config function for model 'm' is missing 'dims' property.",
      ],
      [
        'config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [], "is": 1})',
        {},
        "ValueError: input 'X' in auto-complete-config function for model 'm' contains property other than 'name', 'data_type', 'dims' and 'optional'.",
      ],
      [
        'config.add_output({"name": "X", "data_type": "TYPE_FP32", "dims": [], "optional": 1})',
        {},
        "ValueError: output 'X' in auto-complete-config function for model 'm' contains property other than 'name', 'data_type' and 'dims'.",
      ],
      [
        'config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [16]})',
        { input: [x] },
        "ValueError: unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'X', model provides TYPE_FP32",
      ],
      [
        'config.add_input({"name": "X", "data_type": "TYPE_INT32", "dims": [4]})',
        { input: [x] },
        "ValueError: model 'm', tensor 'X': the model expects dims [4] but the model configuration specifies dims [16]",
      ],
      [
        'config.set_model_transaction_policy({"x": True})',
        {},
        "ValueError: model transaction property in auto-complete-config function for model 'm' contains property other than 'decoupled'.",
      ],
      [
        'config.set_model_transaction_policy({"decoupled": True})',
        { model_transaction_policy: { decoupled: false } },
        "ValueError: trying to change decoupled property in auto-complete-config for model 'm', which is already set to 'False'.",
      ],
      ['return 5', {}, "auto_complete_config function in model 'm' must return a valid pb.ModelConfig object."],
    ])('%s', async (body, config, message) => {
      expect(await complete(`${body}\nreturn config`, config)).toBe(`INTERNAL ${message}`);
    });
  });

  it('refuses settings that make no sense', async () => {
    for (const [key, value, message] of [
      ['shm-default-byte-size', '1000', "backend-config 'python,shm-default-byte-size' must be at least 1048576, got 1000"],
      ['thread-pool-size', '0', "backend-config 'python,thread-pool-size' must be at least 1, got 0"],
      ['stub-timeout-seconds', 'x', "failed to convert stub-timeout-seconds 'x' to integral number"],
      ['send-timeout-seconds', '-1', "failed to convert send-timeout-seconds '-1' to integral number"],
      ['shm-region-prefix-name', 'a/b', "backend-config 'python,shm-region-prefix-name' is no name for shared memory: 'a/b'"],
    ] as const) {
      await expect(pythonModel(echo, { settings: { [key]: value } })).rejects.toThrow(message);
    }
  });
});
