// A harness for ONNX Runtime's two JavaScript packages: `node harness.mjs onnxruntime-web|onnxruntime-node`.
// It answers the commands of docs/harness.md, one JSON object a line, and holds one prepared model at a time.

import fs from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

const VERSION = 1;
const LARGE = 2 ** 20; // bytes from which on an output goes into a file
const RUNTIMES = {
  "onnxruntime-web": { executionProviders: ["wasm"] },
  "onnxruntime-node": { executionProviders: ["cpu"] },
};
const SAYS_UNSUPPORTED = [
  "is not a registered function/op",
  "Could not find an implementation for",
  "type inference failed, inferred types: index=", // of a function in which there is an operator that it has not
  "nsupported data type: ", // with a capital or not: the packages have no array of that type
];

// The protocol's types, with the names and arrays that the runtimes know them by. Half floats are bits where the
// language has no array of them.
const TYPES = {
  float: ["float32", Float32Array],
  double: ["float64", Float64Array],
  float16: ["float16", globalThis.Float16Array ?? Uint16Array],
  int8: ["int8", Int8Array],
  int16: ["int16", Int16Array],
  int32: ["int32", Int32Array],
  int64: ["int64", BigInt64Array],
  uint8: ["uint8", Uint8Array],
  uint16: ["uint16", Uint16Array],
  uint32: ["uint32", Uint32Array],
  uint64: ["uint64", BigUint64Array],
  bool: ["bool", Uint8Array],
};
const DTYPES = Object.fromEntries(Object.entries(TYPES).map(([dtype, [type]]) => [type, dtype]));

class Unsupported extends Error {}

// Standard output is for answers alone: the console, and where the system lets us also what native code prints,
// go to standard error.
function answerChannel() {
  globalThis.console = new console.Console(process.stderr, process.stderr);
  try {
    const channel = fs.openSync("/proc/self/fd/1", fs.constants.O_WRONLY | fs.constants.O_APPEND);
    fs.closeSync(1);
    fs.openSync("/proc/self/fd/2", fs.constants.O_WRONLY | fs.constants.O_APPEND); // the lowest that is free: 1
    return (line) => {
      for (let bytes = Buffer.from(line); bytes.length; ) bytes = bytes.subarray(fs.writeSync(channel, bytes));
    };
  } catch {
    return (line) => process.stdout.write(line);
  }
}

async function* lines(stream) {
  let pieces = [];
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    const parts = chunk.split("\n");
    for (const part of parts.slice(0, -1)) {
      yield pieces.join("") + part;
      pieces = [];
    }
    pieces.push(parts.at(-1));
  }
}

async function runtimeOf(name) {
  process.env.ORT_DISABLE_TELEMETRY = "1";
  const folder = createRequire(new URL(`${name}/package.json`, import.meta.url));
  const ort = await import(pathToFileURL(importable(folder, name)));
  ort.env.logLevel = "fatal";
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  return { ort, version: packageOf(folder, name).version };
}

function packageOf(folder, name) {
  const file = folder.resolve.paths(name).map((path) => `${path}/${name}/package.json`).find(fs.existsSync);
  if (!file) throw new Error(`${name} is not installed: run npm ci --ignore-scripts in the folder ${name}`);
  return { file, ...JSON.parse(fs.readFileSync(file, "utf8")) };
}

// onnxruntime-web's CommonJS entry is the browser's; its module for Node stands in its exports.
function importable(folder, name) {
  const { file, exports } = packageOf(folder, name);
  const module = exports?.["."]?.node?.import;
  return module ? file.replace(/package\.json$/, module) : folder.resolve(name);
}

class Harness {
  #name;
  #ort;
  #version;
  #session = null;

  constructor(name, { ort, version }) {
    this.#name = name;
    this.#ort = ort;
    this.#version = version;
  }

  start() {
    return {
      version: VERSION,
      name: this.#name,
      runtime_version: this.#version,
      language: "JavaScript",
      kind: "backend",
      files: true,
      os: `${process.platform} ${process.arch}, Node ${process.versions.node}`,
    };
  }

  async load({ model }) {
    await this.#session?.release();
    this.#session = null;
    this.#session = await this.#ort.InferenceSession.create(new Uint8Array(fs.readFileSync(model)), {
      ...RUNTIMES[this.#name],
      logSeverityLevel: 4,
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
    return { loaded: true };
  }

  async run({ inputs, files }) {
    if (!this.#session) throw new Error("no model is loaded");
    const tensors = inputs.map((input) => this.#tensor(input));
    const came = await this.#session.run(Object.fromEntries(inputs.map(({ name }, i) => [name, tensors[i]])));
    const changed = inputs.flatMap((input, i) => (Buffer.compare(given(input), bytesOf(tensors[i])) ? i : []));
    const outputs = this.#session.outputNames.map((name, i) => answered(name, came[name], files && files + i));
    return { outputs, changed };
  }

  #tensor(input) {
    const { name, dtype, shape } = input;
    if (!Object.hasOwn(TYPES, dtype)) throw new Unsupported(`input ${name}: no array of ${dtype}`);
    const [type, ArrayType] = TYPES[dtype];
    const bytes = given(input);
    const size = bytes.length / ArrayType.BYTES_PER_ELEMENT;
    if (!Number.isInteger(size)) throw new Error(`${name}: its data are no whole elements`);
    return new this.#ort.Tensor(type, new ArrayType(bytes.buffer, bytes.byteOffset, size), shape);
  }
}

// An input's bytes, aligned in memory of their own, which the runtime may write into.
function given({ data, file }) {
  return file ? fs.readFileSync(file) : new Uint8Array(Buffer.from(data, "base64"));
}

function bytesOf({ data }) {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function answered(name, tensor, file) {
  if (!ArrayBuffer.isView(tensor?.data)) throw new Unsupported(`output ${name} is no tensor of numbers`);
  const dtype = DTYPES[tensor.type] ?? tensor.type;
  const bytes = bytesOf(tensor);
  const elements = file && bytes.length >= LARGE ? { file: written(file, bytes) } : { data: bytes.toString("base64") };
  return { name, dtype, shape: tensor.dims, ...elements };
}

// Over the file of the last output, once the suite has read it, whose memory is there already.
function written(file, bytes) {
  if (fs.existsSync(`${file}.read`)) fs.renameSync(`${file}.read`, file);
  fs.writeFileSync(file, bytes, { flag: fs.constants.O_WRONLY | fs.constants.O_CREAT });
  fs.truncateSync(file, bytes.length);
  return file;
}

function refusal(error) {
  const message = String(error?.message ?? error);
  const unsupported = error instanceof Unsupported || SAYS_UNSUPPORTED.some((text) => message.includes(text));
  return unsupported ? { unsupported: message } : { error: `${error?.name ?? "Error"}: ${message}` };
}

async function answer(harness, { cmd, ...fields }) {
  if (!["start", "load", "run"].includes(cmd)) return { error: `unknown command ${cmd}` };
  try {
    return await harness[cmd](fields);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) die(error); // its memory is in no known state from here on
    return refusal(error);
  }
}

function die(error) {
  fs.writeSync(2, `${error?.stack ?? error}\n`);
  process.abort();
}

async function main([name]) {
  if (!Object.hasOwn(RUNTIMES, name)) throw new Error(`usage: node harness.mjs ${Object.keys(RUNTIMES).join("|")}`);
  const send = answerChannel();
  const harness = new Harness(name, await runtimeOf(name));
  for await (const line of lines(process.stdin)) {
    const command = JSON.parse(line);
    if (command.cmd === "stop") return;
    send(`${JSON.stringify({ seq: command.seq, ...(await answer(harness, command)) })}\n`);
  }
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    fs.writeSync(2, `${error.message}\n`);
    process.exit(2);
  },
);
