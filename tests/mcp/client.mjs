// The official TypeScript client against a built Loom, over standard input and over HTTP.
// usage: node client.mjs LOOM MODULES, where MODULES is the node_modules folder of package.json.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [loom, modules] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const load = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

async function converse(words, transport) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  console.log(words, client.getServerVersion().name, "protocol", transport.protocolVersion ?? "as negotiated");
  const { tools } = await client.listTools();
  assert.equal(tools.length, 7);
  // The client holds the answer against the tool's output schema.
  const answer = await client.callTool({ name: "loom_search", arguments: { query: "roll back a deploy" } });
  const best = answer.structuredContent.knowledge[0];
  assert.match(best.content, /harborctl rollback/);
  console.log("  ->", best.source_uri, best.section);
  const added = await client.callTool({ name: "loom_knowledge_add", arguments: { source_uri: "n", content: "note" } });
  assert.equal(added.structuredContent.chunks_created, 1);
  const got = await client.callTool({ name: "loom_knowledge_get", arguments: { source_uri: "n" } });
  assert.equal(got.structuredContent.content, "note");
  const outline = await client.callTool({ name: "loom_knowledge_outline", arguments: { source_uri: "deploy" } });
  assert.ok(outline.structuredContent.sections.length > 0);
  const listed = await client.callTool({ name: "loom_knowledge_list", arguments: { limit: 1 } });
  assert.equal(listed.structuredContent.rows.length, 1);
  const wrong = await client.callTool({ name: "loom_op", arguments: { op: "token.create", args: {} } });
  assert.equal(wrong.isError, true);
  const { resources } = await client.listResources();
  const read = await client.readResource({ uri: resources.find((one) => one.uri.endsWith("/deploy")).uri });
  assert.match(read.contents[0].text, /harborctl/);
  await client.close();
}

const folder = mkdtempSync(join(tmpdir(), "loom-mcp-"));
try {
  const data = join(folder, "data");
  const note = join(folder, "input.json");
  const content = "# Deploy\n\n## Rollback\n\nTo roll back a deploy, run `harborctl rollback`.\n";
  writeFileSync(note, JSON.stringify({ source_uri: "deploy", content }));
  execFileSync(loom, ["--data", data, "call", "knowledge.add", `@${note}`]);
  await converse("standard input", new StdioClientTransport({ command: loom, args: ["mcp", "--data", data] }));
  const server = spawn(loom, ["serve", "--data", data, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = await new Promise((ready) => createInterface(server.stdout).once("line", (line) => ready([line])));
    await converse("HTTP", new StreamableHTTPClientTransport(new URL(`${line.split(" ").pop()}/mcp`)));
  } finally {
    const ended = new Promise((end) => server.once("exit", end));
    server.kill();
    await ended;
  }
  console.log("all as it should be");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
